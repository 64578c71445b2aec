"""Densities, divergences and the metric of a diagonal Gaussian."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from bmaml.rl.gaussian import Gaussian


def random_gaussian(seed: int, rows: int = 4) -> Gaussian:
    mean_key, std_key = jax.random.split(jax.random.key(seed))
    return Gaussian(jax.random.normal(mean_key, (rows, 3)), 0.3 * jax.random.normal(std_key, (3,)))


def test_log_density_is_scipys():
    gaussian = random_gaussian(0)
    actions = jax.random.normal(jax.random.key(1), (4, 3))
    expected = stats.norm.logpdf(actions, gaussian.mean, np.exp(gaussian.log_std)).sum(axis=1)
    np.testing.assert_allclose(gaussian.log_density(actions), expected, rtol=1e-5)


def test_divergence_is_the_mean_log_ratio_and_zero_from_itself():
    one, other = random_gaussian(0, rows=1), random_gaussian(1, rows=1)
    noise = jax.random.normal(jax.random.key(2), (200_000, 3))
    samples = one.mean + jnp.exp(one.log_std)[None, :] * noise
    ratio = one.log_density(samples) - other.log_density(samples)
    np.testing.assert_allclose(one.divergence(other)[0], np.mean(ratio), rtol=0.02)
    np.testing.assert_array_equal(one.divergence(one), [0.0])


def test_the_metric_is_the_hessian_of_the_divergence():
    gaussian, tangent = random_gaussian(0), random_gaussian(1)
    weights = jnp.array([0.1, 0.2, 0.0, 0.7])

    def total(other):
        return weights @ gaussian.divergence(other)

    _, product = jax.jvp(jax.grad(total), (gaussian,), (tangent,))
    metric = gaussian.metric(tangent, weights)
    np.testing.assert_allclose(metric.mean, product.mean, atol=1e-5)
    np.testing.assert_allclose(metric.log_std, product.log_std, atol=1e-5)
