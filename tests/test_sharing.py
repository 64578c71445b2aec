"""Particles that share a part of their network, whichever part it is."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bmaml
from bmaml import particles as sets
from bmaml.inner import SVGD
from bmaml.kernels import rbf
from bmaml.learner import Learner
from bmaml.meta import BFA, Chaser, Reptile, Validation
from bmaml.models import as_model, features_and_heads, mlp, share
from bmaml.posterior import GaussianLikelihood, GaussianPrior, Posterior
from tests.helpers import SMOOTH, as_float64, one_task, tasks
from tests.test_any_model import MODELS as ANY


@dataclass(frozen=True)
class Tanh:
    """A layer of features, normalised over the rows it is given if asked."""

    normalise: bool = False
    transductive: bool = False
    calls: tuple = ()

    def init(self, key, example):
        return jax.random.normal(key, (example.shape[1], 4), example.dtype)

    def encode(self, weights, x, statistics):
        for counter in self.calls:
            counter.append(x.shape[0])
        features = jnp.tanh(x @ weights)
        if not self.normalise:
            return features, ()
        if statistics is None:
            statistics = jnp.mean(features, axis=0, keepdims=True)
        return features - statistics, statistics


class Counter(list):
    __hash__ = object.__hash__  # type: ignore[assignment]


def learner_with(model, meta=None, particles=3, **inner):
    posterior = Posterior(model, GaussianLikelihood(), GaussianPrior())
    return Learner(posterior, SVGD(0.01, **inner), meta or Validation(), particles)


def start(learner, seed=0):
    return learner.init(jax.random.key(seed), jnp.zeros((1, 1)))


MODELS = {
    "features and heads": lambda: features_and_heads(Tanh(), mlp(4, 1, hidden=())),
    "normalised by support": lambda: features_and_heads(Tanh(normalise=True), mlp(4, 1, hidden=())),
    "any model and heads": lambda: features_and_heads(
        mlp(1, 4, hidden=(3,), activation=jnp.tanh), mlp(4, 1, hidden=())
    ),
    "first layer of any model": lambda: share(SMOOTH, ["[0]"]),
    "last layer of any model": lambda: share(SMOOTH, lambda path: path.startswith("[2]")),
}


@pytest.mark.parametrize(
    ("name", "meta"),
    [
        ("first layer of any model", Validation()),
        ("last layer of any model", Validation()),
        ("normalised by support", BFA()),
        ("features and heads", Chaser(2, 0.01)),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_adaptation_moves_the_own_part_and_the_meta_update_both(name, meta):
    learner = learner_with(MODELS[name](), meta)
    initial = start(learner)
    adapted = jax.jit(learner.adapt)(initial, one_task().support)
    for one, other in zip(
        jax.tree.leaves(initial.shared), jax.tree.leaves(adapted.shared), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert any(
        np.any(one != other)
        for one, other in zip(jax.tree.leaves(initial.own), jax.tree.leaves(adapted.own), strict=True)
    )
    gradient = jax.jit(jax.grad(learner.meta_loss))(initial, tasks(2))
    for part in (gradient.shared, gradient.own.weights):
        leaves = jax.tree.leaves(part)
        assert all(np.all(np.isfinite(leaf)) for leaf in leaves)
        assert any(np.any(leaf != 0) for leaf in leaves)


@pytest.mark.parametrize("name", ["normalised by support", "first layer of any model"])
def test_gradients_match_finite_differences(name):
    with jax.enable_x64(True):
        learner = learner_with(MODELS[name](), steps=2, step_control=False, kernel=rbf(30.0))
        initial, direction = as_float64(start(learner)), as_float64(start(learner, seed=7))
        batch = as_float64(tasks(2))

        @jax.jit
        def along(distance):
            moved = jax.tree.map(lambda a, b: a + distance * b, initial, direction)
            return learner.meta_loss(moved, batch)

        width = 1e-5
        numeric = (along(jnp.asarray(width)) - along(jnp.asarray(-width))) / (2 * width)
        np.testing.assert_allclose(jax.grad(along)(jnp.zeros((), jnp.float64)), numeric, rtol=1e-5)


def test_sharing_by_path_is_the_whole_model_with_equal_parts():
    """Sharing the first layer = particles that start with the same one, if it does not move."""
    learner = learner_with(share(SMOOTH, ["[0]"]))
    initial = start(learner)
    x = jnp.linspace(-1.0, 1.0, 5)[:, None]
    whole = SMOOTH.init(jax.random.key(0), x)
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree.leaves_with_path(whole)]
    both = {**initial.shared, **jax.tree.map(lambda leaf: leaf[1], initial.own.weights)}
    weights = jax.tree.unflatten(jax.tree.structure(whole), [both[path] for path in paths])
    np.testing.assert_allclose(
        learner.predict(initial, x).samples[1], SMOOTH.apply(weights, x), rtol=1e-6
    )


@pytest.mark.parametrize("particles", [1, 5])
@pytest.mark.parametrize("steps", [1, 4])
def test_a_row_passes_the_features_once(particles, steps):
    counter = Counter()
    model = features_and_heads(Tanh(calls=(counter,)), mlp(4, 1, hidden=()))
    learner = learner_with(model, Chaser(steps, 0.01), particles, steps=steps)
    initial = start(learner)
    counter.clear()
    # Traced twice: for the shape of one task's statistics, which computes nothing, and for the work.
    jax.make_jaxpr(jax.grad(learner.meta_loss))(initial, tasks(2, shots=5))
    assert counter == [10, 20]


def test_a_query_row_is_predicted_alone():
    """With statistics of the support, other query rows do not change a prediction."""
    learner = learner_with(MODELS["normalised by support"]())
    task = one_task()
    adapted = jax.jit(learner.adapt)(start(learner), task.support)
    together = learner.predict(adapted, task.query.x).mean
    alone = learner.predict(adapted, task.query.x[:1]).mean
    np.testing.assert_allclose(alone, together[:1], rtol=1e-5)


def test_training_and_prediction_normalise_alike():
    """The validation loss is that of adapting and predicting, statistics included."""
    model = MODELS["normalised by support"]()
    learner = learner_with(model)
    initial, task = start(learner), one_task()
    adapted = jax.jit(learner.adapt)(initial, task.support)
    gammas = jnp.exp(adapted.own.likelihood)[:, None, None]
    errors = jnp.square(task.query.y[None] - learner.predict(adapted, task.query.x).samples)
    expected = -jnp.sum(0.5 * jnp.log(gammas) - 0.5 * gammas * errors)
    batch = jax.tree.map(lambda leaf: leaf[None], task)
    np.testing.assert_allclose(jax.jit(learner.meta_loss)(initial, batch), expected, rtol=1e-4)


def test_transductive_models_need_the_query():
    model = features_and_heads(Tanh(normalise=True, transductive=True), mlp(4, 1, hidden=()))
    learner = learner_with(model)
    task = one_task()
    with pytest.raises(ValueError, match="query_x"):
        learner.adapt(start(learner), task.support)
    adapted = learner.adapt(start(learner), task.support, query_x=task.query.x)
    everything = jnp.tanh(jnp.concatenate([task.support.x, task.query.x]) @ adapted.shared)
    np.testing.assert_allclose(
        adapted.statistics, jnp.mean(everything, axis=0, keepdims=True), rtol=1e-5
    )


def test_reptile_refuses_a_shared_part_it_could_not_train():
    with pytest.raises(ValueError, match="shares nothing"):
        learner_with(MODELS["features and heads"](), Reptile())


def test_sharing_nothing_or_everything_is_refused_by_name():
    for parts, word in ((["nothing"], "no part"), (["["], "every part")):
        with pytest.raises(ValueError, match=word):
            start(learner_with(share(SMOOTH, parts)))


def test_a_preset_takes_a_shared_model_and_trains():
    learner = bmaml.bmaml(MODELS["features and heads"](), num_particles=3)
    source = bmaml.tasks.Sinusoid(num_tasks=20, held_out_tasks=5)
    trained = bmaml.fit_seeds(learner, source, steps=3, seeds=[0, 1], progress=False)
    posterior = trained[1].adapt([[0.0], [1.0]], [0.0, 1.0])
    assert posterior.predict([[0.5]]).mean.shape == (1, 1)


@pytest.mark.parametrize("kind", list(ANY))
@pytest.mark.parametrize("how", ["features", "part"])
def test_models_of_every_library_can_be_shared(kind, how):
    if how == "features":
        model = features_and_heads(ANY[kind](), mlp(1, 1, hidden=()))
    else:
        weights = as_model(ANY[kind]()).init(jax.random.key(0), jnp.zeros((1, 1)))
        first = jax.tree_util.keystr(jax.tree.leaves_with_path(weights)[0][0])
        model = share(ANY[kind](), [first])
    learner = learner_with(model)
    initial = start(learner)
    assert sets.count(initial.own) == 3
    gradient = jax.jit(jax.grad(learner.meta_loss))(initial, tasks(2))
    for part in (gradient.shared, gradient.own.weights):
        assert any(np.any(leaf != 0) for leaf in jax.tree.leaves(part))
        assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(part))
    adapted = jax.jit(learner.adapt)(initial, one_task().support)
    jax.tree.map(np.testing.assert_array_equal, adapted.shared, initial.shared)
