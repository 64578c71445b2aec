"""Metrics of regression: against their definitions, and the identities between them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from bmaml.metrics import (
    coverage,
    crps,
    ensemble_mse,
    negative_log_likelihood,
    particle_mse,
    score,
)
from bmaml.predictive import RegressionPrediction

METRICS = [ensemble_mse, particle_mse, negative_log_likelihood, coverage, crps]


def make(seed=0, count=3, rows=(4,)):
    mean_key, noise_key, target_key = jax.random.split(jax.random.key(seed), 3)
    means = 2 * jax.random.normal(mean_key, (count, *rows))
    noise = jax.random.uniform(noise_key, (count,), minval=0.05, maxval=1.0)
    return RegressionPrediction(means, noise), jax.random.normal(target_key, rows)


def integral_crps(means, stds, y):
    """∫ (F(z) − 1{y ≤ z})² dz for one row, by quadrature on both sides of the jump."""
    cdf = lambda z: np.mean(norm.cdf(z, means, stds))  # noqa: E731
    reach = 12 * np.max(stds) + np.ptp(np.append(means, y))
    left, _ = quad(lambda z: cdf(z) ** 2, y - reach, y, limit=200, points=[*means])
    right, _ = quad(lambda z: (cdf(z) - 1) ** 2, y, y + reach, limit=200, points=[*means])
    return left + right


@pytest.mark.parametrize("count", [1, 2, 5])
def test_crps_is_the_integral_of_the_squared_difference(count):
    prediction, y = make(count=count)
    means, stds = np.asarray(prediction.means, np.float64), np.sqrt(prediction.noise_variances)
    expected = np.mean([integral_crps(means[:, i], stds, float(y[i])) for i in range(len(y))])
    np.testing.assert_allclose(crps(prediction, y), expected, rtol=1e-5)


def test_crps_is_the_energy_form_over_draws():
    prediction, y = make(rows=(2,))
    first, second = jnp.split(prediction.draw(jax.random.key(3), 40_000), 2)
    energy = jnp.mean(jnp.abs(first - y[None])) - 0.5 * jnp.mean(jnp.abs(first - second))
    np.testing.assert_allclose(crps(prediction, y), energy, atol=0.03)


@pytest.mark.parametrize("noise", [0.0, 1e-12])
def test_crps_without_noise_is_the_absolute_error_of_one_particle(noise):
    prediction = RegressionPrediction(jnp.array([[1.0, -2.0]]), jnp.array([noise]))
    np.testing.assert_allclose(crps(prediction, jnp.array([1.5, -2.0])), 0.25, atol=1e-5)


def test_crps_is_proper():
    # On draws of its own, a prediction scores better than a shifted, narrower or wider one.
    truth, _ = make(rows=())
    draws = truth.draw(jax.random.key(4), 4_000)
    mean_score = lambda p: jnp.mean(jax.vmap(lambda y: crps(p, y))(draws))  # noqa: E731
    best = mean_score(truth)
    for other in (
        truth._replace(means=truth.means + 0.7),
        truth._replace(noise_variances=truth.noise_variances / 10),
        truth._replace(noise_variances=truth.noise_variances * 10),
    ):
        assert best < mean_score(other)


@given(st.integers(0, 2**16), st.sampled_from([1, 2, 6]))
@settings(max_examples=25, deadline=None)
def test_particle_error_is_ensemble_error_plus_disagreement(seed, count):
    prediction, y = make(seed, count)
    expected = ensemble_mse(prediction, y) + jnp.mean(prediction.epistemic_std**2)
    np.testing.assert_allclose(particle_mse(prediction, y), expected, rtol=1e-5)


def test_errors_are_numpys():
    prediction, y = make(rows=(4, 2))
    means, y = np.asarray(prediction.means), np.asarray(y)
    np.testing.assert_allclose(
        ensemble_mse(prediction, y), np.mean((means.mean(0) - y) ** 2), rtol=1e-6
    )
    np.testing.assert_allclose(particle_mse(prediction, y), np.mean((means - y) ** 2), rtol=1e-6)


def test_negative_log_likelihood_of_one_particle_is_scipys():
    prediction, y = make(count=1)
    std = np.sqrt(prediction.noise_variances)
    expected = -np.mean(norm.logpdf(np.asarray(y), np.asarray(prediction.means[0]), std))
    np.testing.assert_allclose(negative_log_likelihood(prediction, y), expected, rtol=1e-5)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_coverage_of_own_draws_is_the_level(level):
    prediction, _ = make(rows=(2,))
    draws = prediction.draw(jax.random.key(5), 20_000)
    share = jnp.mean(jax.vmap(lambda y: coverage(prediction, y, level))(draws))
    np.testing.assert_allclose(share, level, atol=0.02)


def test_coverage_counts_targets_inside_the_interval():
    prediction, _ = make(rows=(200,))
    y = 3 * jax.random.normal(jax.random.key(6), (200,))
    lower, upper = prediction.interval(0.7)
    inside = jnp.mean((lower <= y) & (y <= upper), dtype=y.dtype)
    np.testing.assert_allclose(coverage(prediction, y, level=0.7), inside, atol=1e-6)


def test_score_holds_every_metric_by_name():
    prediction, y = make()
    values = score(prediction, y)
    assert list(values) == ["mse", "particle_mse", "nll", "coverage", "crps"]
    for metric, value in zip(METRICS, values.values(), strict=True):
        assert value.shape == ()
        np.testing.assert_array_equal(value, metric(prediction, y))


def test_score_does_not_depend_on_the_order_of_particles():
    prediction, y = make()
    permuted = jax.tree.map(lambda leaf: leaf[::-1], prediction)
    for name, value in score(permuted, y).items():
        np.testing.assert_allclose(value, score(prediction, y)[name], rtol=1e-5)


def test_score_maps_over_tasks():
    tasks = [make(seed) for seed in range(3)]
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *tasks)
    batched = jax.jit(jax.vmap(score))(*stacked)
    for index, task in enumerate(tasks):
        for name, value in score(*task).items():
            np.testing.assert_allclose(batched[name][index], value, rtol=1e-5)


def test_rows_count_equally():
    prediction, y = make(rows=(4,))
    columns = RegressionPrediction(prediction.means[..., None], prediction.noise_variances)
    for metric in METRICS:
        np.testing.assert_allclose(metric(columns, y[:, None]), metric(prediction, y), rtol=1e-6)


@pytest.mark.parametrize("noise", [1.0, 0.0])
@pytest.mark.parametrize("distance", [0.0, 1e6])
@pytest.mark.parametrize("metric", METRICS)
def test_metrics_and_gradients_are_finite(metric, distance, noise):
    # Coincident particles, with and without noise, on the target and a million away.
    prediction = RegressionPrediction(jnp.zeros((3, 2)), jnp.full(3, noise))
    value, gradient = jax.value_and_grad(metric)(prediction, jnp.full(2, distance))
    for leaf in jax.tree.leaves((value, gradient)):
        assert np.all(np.isfinite(leaf))


@pytest.mark.parametrize("metric", METRICS)
def test_targets_of_another_shape_are_refused(metric):
    prediction, y = make(rows=(4, 1))
    with pytest.raises(ValueError, match=r"y has shape \(4,\)"):
        metric(prediction, y[:, 0])


def test_a_level_outside_zero_and_one_is_refused():
    with pytest.raises(ValueError, match="level must lie strictly between 0 and 1"):
        coverage(*make(), level=90.0)
