"""Rows chosen together tell different things."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.active.spread import spread_choice


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_the_variances_are_those_of_conditioned_gaussians(noise):
    samples = jax.random.normal(jax.random.key(0), (6, 9))
    chosen, variances = spread_choice(samples, noise, 4)
    covariance = np.cov(np.asarray(samples, np.float64), rowvar=False, bias=True)
    for step, row in enumerate(np.asarray(chosen)):
        before = np.asarray(chosen)[:step]
        inner = covariance[np.ix_(before, before)] + noise * np.eye(step)
        cross = covariance[np.ix_(np.arange(9), before)]
        left = np.diag(covariance - cross @ np.linalg.solve(inner, cross.T))
        free = np.setdiff1d(np.arange(9), before)
        np.testing.assert_allclose(variances[step], left[row], rtol=1e-3, atol=1e-5)
        assert left[row] >= left[free].max() - 1e-5


def test_no_row_comes_twice_even_if_nothing_is_uncertain():
    chosen, variances = spread_choice(jnp.ones((3, 5)), 0.1, 5)
    assert sorted(np.asarray(chosen)) == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(variances, 0.0)
