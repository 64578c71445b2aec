"""What the meta-update learns of the inner update: steps of all members, bandwidths of all kernels."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bmaml
from bmaml import particles as sets
from bmaml.active.rounds import learn
from bmaml.inner import HMC, INNER_UPDATES, SGLD, SVGD, GradientDescent, Target
from bmaml.kernels import KERNELS, rbf
from bmaml.meta import BFA, Chaser, Reptile
from bmaml.models import mlp, share
from bmaml.training_state import INIT, keys_of
from tests.helpers import (
    as_float64,
    bayesian_posterior,
    initial_particles,
    one_task,
    small_learner,
    tasks,
)

TINY = mlp(1, 1, hidden=(3,), activation=jnp.tanh)
FIXED = 5.0  # The median is a constant to differentiation by design.
LEARNED_KERNELS = [name for name in KERNELS if name.endswith("learned")]
UPDATES = {
    **{name: kind(0.01, learned_steps=True) for name, kind in INNER_UPDATES.items()},
    "svgd": SVGD(0.01, learned_steps=True, kernel=rbf(FIXED)),
    **{name: SVGD(0.01, kernel=KERNELS[name](FIXED)) for name in LEARNED_KERNELS},
}
ALL = pytest.mark.parametrize("name", list(UPDATES))


def learner_of(update, meta=None):
    return small_learner(update, meta, bayesian_posterior(TINY), num_particles=2)


def plain(update):
    """The same without anything to learn."""
    if isinstance(update, SVGD):
        update = replace(update, kernel=replace(update.kernel, learned=False))
    return replace(update, learned_steps=False)


def leaves_of(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


def assert_same(left, right, **tolerance):
    assert jax.tree.structure(left) == jax.tree.structure(right)
    for one, other in zip(leaves_of(left), leaves_of(right), strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


@cache
def adapted_by(update):
    learner, task = learner_of(update), one_task()
    adapt = jax.jit(lambda initial: learner.adapt(initial, task.support, key=jax.random.key(0)))
    return adapt, initial_particles(learner)


@ALL
def test_begins_as_the_update_that_learns_nothing_and_ends_elsewhere(name):
    adapt, initial = adapted_by(UPDATES[name])
    other, same = adapted_by(plain(UPDATES[name]))
    assert isinstance(initial, sets.Tuned)
    assert_same(initial.particles, same)
    # Adapted particles are particles and nothing else.
    assert_same(adapt(initial), other(same), rtol=1e-5, atol=1e-6)
    larger = initial._replace(inner=jax.tree.map(lambda leaf: leaf + 0.7, initial.inner))
    moved = zip(leaves_of(adapt(larger).weights), leaves_of(other(same).weights), strict=True)
    assert all(np.any(np.abs(one - two) > 1e-5) for one, two in moved)


@pytest.mark.parametrize("name", list(INNER_UPDATES))
def test_learning_nothing_adds_nothing(name):
    learner = learner_of(INNER_UPDATES[name]())
    initial = initial_particles(learner)
    assert not learner.inner.learns
    assert learner.inner.init(initial) == {}
    assert type(initial).__name__ == "Particle"
    assert learner.tuned(initial) == (learner.inner, initial)


@ALL
def test_meta_gradients_of_what_is_learned_match_finite_differences(name):
    with jax.enable_x64(True):
        learner = learner_of(replace(UPDATES[name], steps=2, step_control=False), BFA())
        initial = as_float64(initial_particles(learner))
        batch, key = as_float64(tasks(1)), jax.random.key(0)
        keys = iter(jax.random.split(jax.random.key(1), 20))
        direction = jax.tree.map(
            lambda leaf: jax.random.normal(next(keys), leaf.shape, leaf.dtype), initial.inner
        )

        def along(distance):
            moved = jax.tree.map(lambda a, b: a + distance * b, initial.inner, direction)
            return learner.meta_loss(initial._replace(inner=moved), batch, key=key)

        width = 1e-6
        points = jnp.asarray([0.0, width, -width], jnp.float64)
        # One program for the slope and both ends: compiling is what takes the time.
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(along)))(points)
        assert abs(slopes[0]) > 1e-6
        np.testing.assert_allclose(slopes[0], (values[1] - values[2]) / (2 * width), rtol=1e-5)


def test_the_chaser_trains_all_of_it():
    update = SVGD(0.01, learned_steps=True, kernel=rbf(layers=True, learned=True))
    learner = learner_of(update, Chaser(1, 0.01))
    initial = initial_particles(learner)
    gradient = jax.jit(jax.grad(learner.meta_loss))(initial, tasks(1)).inner
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves_of(gradient))
    assert all(np.all(leaf != 0) for leaf in leaves_of(gradient["log_steps"].weights))
    # Those of the layers; precisions are alike in all particles, and have no bandwidth to speak of.
    assert np.all(gradient["log_bandwidths"][:2] != 0)


def test_a_factor_is_a_factor_on_the_step_of_its_parameter():
    adapt, initial = adapted_by(GradientDescent(0.01, learned_steps=True, step_control=False))
    log_steps = initial.inner["log_steps"]
    layers = log_steps.weights
    faster = (layers[0]._replace(weight=layers[0].weight.at[0, 1].set(jnp.log(3.0))), *layers[1:])
    faster = initial._replace(inner={"log_steps": log_steps._replace(weights=faster)})
    before = initial.particles.weights[0].weight
    one, three = (adapt(start).weights[0].weight - before for start in (initial, faster))
    expected = np.asarray(one).copy()
    expected[:, 0, 1] *= 3.0
    np.testing.assert_allclose(three, expected, rtol=1e-3, atol=1e-7)


@pytest.mark.parametrize(
    "sampler", [SGLD(0.005), HMC(0.02, metropolis=True, step_control=False)], ids=["sgld", "hmc"]
)
def test_learned_factors_are_a_metric_and_do_not_change_where_chains_lead(sampler):
    scale = jnp.array([1.0, 0.3])
    target = Target(lambda theta: -0.5 * jnp.sum(jnp.square(theta / scale)), lambda theta: jnp.ones(()))
    start = jax.random.normal(jax.random.key(0), (2000, 2))
    bound = replace(sampler, learned_steps=True).bind({"log_steps": jnp.log(jnp.array([4.0, 0.5]))})
    run = jax.jit(lambda start: bound.run(target, start, steps=600, key=jax.random.key(1)))
    whitened = np.asarray(run(start) / scale[None])
    np.testing.assert_allclose(whitened.mean(axis=0), 0.0, atol=4 / 2000**0.5)
    np.testing.assert_allclose(np.cov(whitened.T), np.eye(2), atol=4 * (2 / 2000) ** 0.5)


def test_the_meta_update_trains_saves_resumes_and_loads_it(tmp_path):
    update = SVGD(0.01, learned_steps=True, kernel=rbf(30.0, learned=True), step_control=False)
    learner = learner_of(update, BFA())
    source = bmaml.tasks.Sinusoid(num_tasks=20, held_out_tasks=5)
    options = {"steps": 4, "validate_every": 2, "progress": False, "seeds": [0, 1]}
    whole = bmaml.fit_seeds(learner, source, out=tmp_path / "run", **options)[1]
    inner = whole.last.particles.inner
    for variables in (inner["log_steps"].weights, inner["log_bandwidths"]):
        assert any(np.any(leaf != 0) for leaf in leaves_of(variables))
    again = bmaml.fit_seeds(learner, source, out=tmp_path / "run", resume=True, **options)[1]
    loaded = bmaml.Trained.load(tmp_path / "run", learner, "last", seed=1)
    for other in (again.last.particles, loaded.last.particles):
        assert_same(whole.last.particles, other, rtol=0, atol=0)
    # What is adapted with is what was learned.
    x, y = [[0.0], [1.0]], [0.0, 1.0]
    prediction = loaded.adapt(x, y).predict([[0.5]]).mean
    data = bmaml.tasks.Data(jnp.asarray(x), jnp.asarray(y)[:, None])
    bound = replace(learner, inner=replace(plain(update), kernel=update.kernel).bind(inner))
    # `learns` must be off for a learner that is given plain particles.
    bound = replace(bound, inner=replace(bound.inner, kernel=replace(update.kernel, learned=False)))
    by_hand = bound.predict(bound.adapt(whole.last.particles.particles, data), jnp.array([[0.5]]))
    np.testing.assert_allclose(prediction, by_hand.mean, rtol=1e-4, atol=1e-5)
    with pytest.raises(bmaml.errors.RunError, match="compose the learner as it was"):
        bmaml.Trained.load(tmp_path / "run", learner_of(plain(update), BFA()))


def test_an_initial_bandwidth_outlives_training_and_loading(tmp_path):
    learner = learner_of(SVGD(0.01, kernel=rbf("initial"), step_control=False), Chaser(1, 0.01))
    source = bmaml.tasks.Sinusoid(num_tasks=20, held_out_tasks=5)
    options = {"steps": 4, "validate_every": 2, "progress": False}
    trained = bmaml.fit(learner, source, out=tmp_path / "run", **options)
    start = jax.jit(learner.init)(keys_of([0], INIT)[0], jnp.zeros((5, 1)))
    kept = trained.last.particles.inner["log_bandwidths"]
    np.testing.assert_allclose(kept, start.inner["log_bandwidths"], rtol=1e-6)
    weights = zip(leaves_of(start.particles), leaves_of(trained.last.particles.particles), strict=True)
    assert any(np.any(before != after) for before, after in weights)
    loaded = bmaml.Trained.load(tmp_path / "run", learner, "last")
    assert_same(loaded.last.particles, trained.last.particles, rtol=0, atol=0)


def test_it_works_beside_a_shared_part_and_in_active_learning():
    posterior = replace(bayesian_posterior(), model=share(TINY, ["[0]"]))
    learner = small_learner(SVGD(0.01, learned_steps=True), posterior=posterior, num_particles=2)
    initial = initial_particles(learner)
    assert isinstance(initial.particles, sets.Shared)
    assert jax.tree.structure(initial.inner["log_steps"]) == jax.tree.structure(initial.particles.own)
    gradient = jax.jit(jax.grad(learner.meta_loss))(initial, tasks(1))
    for part in (gradient.inner, gradient.particles.shared, gradient.particles.own.weights):
        assert any(np.any(leaf != 0) for leaf in leaves_of(part))
    task = one_task()
    faster = initial._replace(inner=jax.tree.map(lambda leaf: leaf + 1.0, initial.inner))
    learned = [
        learn(learner, start, task.support, task.query, count=1, key=jax.random.key(0)).particles
        for start in (initial, faster)
    ]
    assert all(isinstance(particles, sets.Shared) for particles in learned)
    means = [np.asarray(learner.predict(particles, task.query.x).mean) for particles in learned]
    assert np.max(np.abs(means[0] - means[1])) > 1e-4


def test_the_noise_level_hurries_and_its_learned_step_does_not():
    learner = learner_of(GradientDescent(learned_steps=True))
    initial = initial_particles(learner)
    ones = jax.tree.map(jnp.ones_like, initial)
    optimizer = replace(learner.optimizer, noise_factor=10.0).build(1)
    with jax.numpy_dtype_promotion("standard"):
        change, _ = optimizer.update(ones, optimizer.init(initial), initial)
    np.testing.assert_allclose(change.particles.likelihood, -1e-2, rtol=1e-4)
    np.testing.assert_allclose(change.inner["log_steps"].likelihood, -1e-3, rtol=1e-4)


def test_particles_without_what_was_learned_are_refused():
    learner = learner_of(GradientDescent(learned_steps=True))
    initial, task = initial_particles(learner), one_task()
    with pytest.raises(ValueError, match="which these particles lack"):
        learner.adapt(initial.particles, task.support)


@pytest.mark.parametrize(
    "update", [GradientDescent(learned_steps=True), SVGD(kernel=rbf(learned=True))]
)
def test_reptile_refuses_what_it_could_not_train(update):
    with pytest.raises(ValueError, match="nothing of how it moves"):
        small_learner(update, Reptile())
