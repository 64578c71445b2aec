import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.metrics import Sharpenable, SharpnessCurve, sharpness_curve
from bmaml.metrics.overconfidence import LOG_FACTORS
from bmaml.posterior import LIKELIHOODS, GaussianLikelihood, Likelihood
from bmaml.predictive import ClassificationPrediction, RegressionPrediction


def of_tasks(predictions, y):
    """The summary over stacked tasks."""
    return float(jax.vmap(sharpness_curve)(predictions, y).summary())


@pytest.mark.parametrize("log_variance", [-1.9, -0.73, 0.0, 0.2, 1.5])
def test_of_gaussians_it_is_the_logarithm_of_the_missing_variance(log_variance):
    y = jnp.exp(0.5 * log_variance) * jax.random.normal(jax.random.key(0), (400, 50, 1))
    predictions = RegressionPrediction(jnp.zeros((400, 1, 50, 1)), jnp.ones((400, 1)))
    # The parabola is off by a few hundredths.
    assert of_tasks(predictions, y) == pytest.approx(log_variance, abs=0.05)


@pytest.mark.parametrize("log_factor", [-1.2, 0.0, 0.5, 1.4])
def test_of_classes_it_is_the_logarithm_of_the_factor_on_the_logits(log_factor):
    honest_key, label_key = jax.random.split(jax.random.key(1))
    honest = 2.0 * jax.random.normal(honest_key, (500, 1, 20, 5))
    y = jax.random.categorical(label_key, honest[:, 0])
    predictions = ClassificationPrediction(jnp.exp(log_factor) * honest)
    assert of_tasks(predictions, y) == pytest.approx(log_factor, abs=0.05)


def test_a_few_tasks_say_little_and_no_number_of_them_says_everything():
    y = 5.0 * jax.random.normal(jax.random.key(2), (200, 30))
    predictions = RegressionPrediction(jnp.zeros((200, 1, 30)), jnp.ones((200, 1)))
    one = of_tasks(jax.tree.map(lambda leaf: leaf[:1], predictions), y[:1])
    assert 0.0 < one < 0.8 * of_tasks(predictions, y)
    far = of_tasks(predictions, 100.0 * y)
    assert far == pytest.approx(LOG_FACTORS[-1])  # log 250,000 is beyond it.


def test_rows_that_do_not_count_do_not():
    prediction = RegressionPrediction(jnp.zeros((1, 3)), jnp.ones(1))
    mask = jnp.array([True, True, False])
    curve = sharpness_curve(prediction, jnp.array([1.0, 2.0, 1e6]), mask)
    short = sharpness_curve(RegressionPrediction(jnp.zeros((1, 2)), jnp.ones(1)), jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(curve.nll, short.nll, rtol=1e-6)


def test_where_nothing_is_finite_nothing_is_changed():
    assert SharpnessCurve(jnp.full((3, len(LOG_FACTORS)), jnp.nan)).summary() == 0.0
    partly = jnp.square(jnp.asarray(LOG_FACTORS, jnp.float32) + 0.8)
    partly = jnp.where(jnp.asarray(LOG_FACTORS) > -0.5, jnp.inf, partly)
    assert SharpnessCurve(partly[None]).summary() == pytest.approx(0.8, abs=0.4)


@pytest.mark.parametrize("name", list(LIKELIHOODS))
def test_every_likelihood_sharpens_its_predictions(name):
    likelihood = LIKELIHOODS[name]()
    if type(likelihood).sharpen is Likelihood.sharpen:
        pytest.skip("has nothing that says how sure it is")
    variables = jnp.array([0.3, -0.2])
    outputs = jax.random.normal(jax.random.key(3), (2, 4, 3))
    prediction = likelihood.prediction(variables, outputs)
    assert isinstance(prediction, Sharpenable)
    expected = prediction.sharpened(0.7)
    found = likelihood.prediction(likelihood.sharpen(variables, jnp.asarray(0.7)), outputs)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-6)


def test_where_the_noise_level_is_part_of_the_step_it_stays():
    # Else what is kept would adapt by other steps than it was trained for.
    variables = jnp.array([0.3, -0.2])
    sharper = GaussianLikelihood(unit_steps=False).sharpen(variables, jnp.asarray(0.7))
    np.testing.assert_array_equal(sharper, variables)


def test_a_noise_level_that_was_never_learned_is_found_from_far_away():
    errors = 0.02 * jax.random.normal(jax.random.key(0), (400, 5, 1))
    predictions = RegressionPrediction(jnp.zeros((400, 1, 5, 1)), jnp.ones((400, 1)))
    assert np.exp(0.5 * of_tasks(predictions, errors)) == pytest.approx(0.02, rel=0.1)
