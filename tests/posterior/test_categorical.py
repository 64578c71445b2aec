"""The likelihoods of classification: against optax, finite differences, and each other."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from jax.test_util import check_grads

from bmaml.inner import SVGD, GradientDescent
from bmaml.learner import Learner
from bmaml.meta import Chaser, Validation
from bmaml.models import mlp
from bmaml.posterior import LIKELIHOODS, Categorical, CrossEntropy, FlatPrior, GaussianPrior, Posterior
from bmaml.tasks.task import Data, Task

BOTH = [Categorical(), CrossEntropy()]
LABELS = jnp.array([0, 2, 1, 2])
EVEN = jnp.zeros(())  # log β


def logits(seed=0, size=3.0):
    return size * jax.random.normal(jax.random.key(seed), (4, 3))


def test_the_categorical_likelihood_is_minus_optaxs_cross_entropy():
    expected = optax.softmax_cross_entropy_with_integer_labels(logits(), LABELS)
    np.testing.assert_allclose(
        Categorical().log_prob(EVEN, logits(), LABELS), -expected.sum(), rtol=1e-6
    )
    np.testing.assert_allclose(
        CrossEntropy().log_prob(EVEN, logits(), LABELS), -expected.mean(), rtol=1e-6
    )


def test_the_gradient_is_optaxs():
    loss = lambda x: optax.softmax_cross_entropy_with_integer_labels(x, LABELS).sum()  # noqa: E731
    ours = jax.grad(Categorical().validation_loss, argnums=1)(EVEN, logits(), LABELS)
    np.testing.assert_allclose(ours, jax.grad(loss)(logits()), rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("likelihood", BOTH)
def test_two_derivatives_match_finite_differences(likelihood):
    with jax.enable_x64(True):
        outputs = jnp.asarray(np.asarray(logits(), np.float64))
        value = lambda x: likelihood.log_prob(EVEN, jnp.asarray(x), LABELS)  # noqa: E731
        check_grads(value, (outputs,), order=2, rtol=1e-5)


def test_cross_entropy_is_the_categorical_likelihood_over_the_number_of_rows():
    both = [likelihood.log_prob(EVEN, logits(), LABELS) for likelihood in BOTH]
    np.testing.assert_allclose(both[0], 4 * both[1], rtol=1e-6)


@pytest.mark.parametrize("likelihood", BOTH)
@pytest.mark.parametrize("size", [1e4, 1e30])
def test_values_and_gradients_are_finite_at_extreme_logits(likelihood, size):
    value, gradient = jax.value_and_grad(likelihood.log_prob, argnums=1)(
        EVEN, logits(size=size), LABELS
    )
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


@pytest.mark.parametrize("likelihood", BOTH)
def test_the_likelihood_is_best_at_the_truth_and_never_above_zero(likelihood):
    sure = 1e4 * jax.nn.one_hot(LABELS, 3)
    assert likelihood.log_prob(EVEN, sure, LABELS) == 0
    assert likelihood.log_prob(EVEN, logits(), LABELS) < 0


@pytest.mark.parametrize("likelihood", BOTH)
@pytest.mark.parametrize("label", [3, -1])
def test_a_label_that_is_no_class_gives_nan(likelihood, label):
    assert np.isnan(jax.jit(likelihood.log_prob)(EVEN, logits(), LABELS.at[1].set(label)))


@pytest.mark.parametrize("likelihood", BOTH)
@pytest.mark.parametrize(
    ("outputs", "y"),
    [((4, 3), (4, 1)), ((4, 3), (3,)), ((4, 1), (4,)), ((4,), (4,)), ((4, 2, 3), (4,))],
)
def test_other_shapes_are_refused(likelihood, outputs, y):
    with pytest.raises(ValueError, match="reshape the targets to one label a row"):
        likelihood.log_prob(EVEN, jnp.zeros(outputs), jnp.zeros(y, jnp.int32))


@pytest.mark.parametrize("likelihood", BOTH)
def test_labels_that_are_no_integers_are_refused(likelihood):
    with pytest.raises(ValueError, match="The labels are float32"):
        likelihood.log_prob(EVEN, logits(), jnp.zeros(4))


@pytest.mark.parametrize("name", ["categorical", "cross_entropy"])
def test_likelihoods_have_names_and_are_selected_by_accuracy(name):
    likelihood = LIKELIHOODS[name]()
    assert likelihood.selection == ("accuracy", True)
    assert likelihood.init() == 0


@pytest.mark.parametrize("likelihood", BOTH)
def test_the_sharpness_is_that_of_predictions_and_trained_on_them_alone(likelihood):
    log_sharpness = jnp.asarray(0.7)
    sharp = optax.softmax_cross_entropy_with_integer_labels(jnp.exp(0.7) * logits(), LABELS)
    prediction = likelihood.prediction(log_sharpness[None], logits()[None])
    np.testing.assert_allclose(prediction.log_prob(LABELS), -sharp, rtol=1e-5)
    judged = likelihood.predictive_log_prob(log_sharpness, logits(), LABELS)
    rows = len(LABELS) if not likelihood.averages else 1
    np.testing.assert_allclose(judged, -rows * sharp.mean(), rtol=1e-5)
    # Neither the likelihood nor the network's gradient knows it.
    losses = jax.grad(likelihood.validation_loss, argnums=(0, 1))
    (noise, network), (_, even) = (losses(value, logits(), LABELS) for value in (log_sharpness, EVEN))
    np.testing.assert_array_equal(network, even)
    assert likelihood.log_prob(log_sharpness, logits(), LABELS) == likelihood.log_prob(
        EVEN, logits(), LABELS
    )
    expected = -jax.grad(likelihood.predictive_log_prob)(log_sharpness, logits(), LABELS)
    np.testing.assert_allclose(noise, expected, rtol=1e-6)


def test_the_sharpness_learned_is_the_best_there_is():
    """Gradient descent on predictions that are ten times too cautious."""
    y = jax.random.categorical(
        jax.random.key(3),
        10.0 * (outputs := 0.1 * 3.0 * jax.random.normal(jax.random.key(2), (2000, 3))),
    )
    step = jax.jit(
        lambda value: value + 0.3 * jax.grad(CrossEntropy().predictive_log_prob)(value, outputs, y)
    )
    value = EVEN
    for _ in range(200):
        value = step(value)
    np.testing.assert_allclose(jnp.exp(value), 10.0, rtol=0.1)


@pytest.mark.parametrize(
    ("posterior", "inner", "meta"),
    [
        (Posterior(mlp(2, 3, hidden=(5,)), Categorical(), GaussianPrior()), SVGD(0.1), Chaser()),
        (
            Posterior(mlp(2, 3, hidden=(5,)), CrossEntropy(), FlatPrior()),
            GradientDescent(0.1),
            Validation(),
        ),
    ],
)
def test_a_learner_adapts_to_classes(posterior, inner, meta):
    learner = Learner(posterior, inner, meta, num_particles=3)
    x = jnp.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]])
    support = Data(x, jnp.array([0, 1, 2]))
    particles = learner.init(jax.random.key(0), x)
    before = learner.predict(particles, x).log_prob(support.y)
    adapted = jax.jit(lambda initial: learner.adapt(initial, support, steps=20))(particles)
    assert jnp.sum(learner.predict(adapted, x).log_prob(support.y)) > jnp.sum(before)
    tasks = jax.tree.map(lambda leaf: leaf[None], Task(support, support))
    gradient = jax.jit(jax.grad(learner.meta_loss))(particles, tasks)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))
