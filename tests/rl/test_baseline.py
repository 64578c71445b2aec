"""The baseline is least squares on its features, whatever the scale and rank of the observations."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.rl.baseline import features, fitted_values


def episodes(seed: int, size: int, count: int = 6, steps: int = 30):
    keys = jax.random.split(jax.random.key(seed), 3)
    observations = jnp.cumsum(0.3 * jax.random.normal(keys[0], (count, steps, size)), axis=1)
    returns = jnp.sum(observations, axis=2) + jax.random.normal(keys[1], (count, steps))
    lengths = jax.random.randint(keys[2], (count, 1), steps // 2, steps + 1)
    return observations, returns, jnp.arange(steps)[None, :] < lengths


def least_squares(observations, returns, mask):
    rows = np.asarray(features(observations), np.float64)[np.asarray(mask)]
    rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
    target = np.asarray(returns, np.float64)[np.asarray(mask)]
    coefficients = np.linalg.lstsq(rows, target, rcond=None)[0]
    return rows @ coefficients, target


@pytest.mark.parametrize("size", [1, 2, 20])
def test_values_are_those_of_least_squares(size):
    observations, returns, mask = episodes(size, size)
    values = np.asarray(fitted_values(observations, returns, mask))[np.asarray(mask)]
    expected, target = least_squares(observations, returns, mask)
    # By the residual: what is left to explain must be as small as it can be.
    best = np.mean((target - expected) ** 2)
    assert np.mean((target - values) ** 2) <= 1.01 * best + 1e-6


def test_constant_and_repeated_observations_do_no_harm():
    observations, returns, mask = episodes(0, 3)
    alike = jnp.stack([observations[..., 0]] * 2 + [jnp.full(returns.shape, 7.0)], axis=-1)
    values = fitted_values(alike, returns, mask)
    once = fitted_values(observations[..., :1], returns, mask)
    np.testing.assert_allclose(values, once, atol=0.02)


def test_what_did_not_take_place_has_no_influence():
    observations, returns, mask = episodes(0, 2)
    spoilt = jnp.where(mask[..., None], observations, jnp.nan)
    values = fitted_values(spoilt, jnp.where(mask, returns, jnp.nan), mask)
    np.testing.assert_array_equal(values, fitted_values(observations, returns, mask))


def test_no_lapack_call_is_compiled():
    """Two of them in one program can hang a pool of two threads."""
    program = jax.jit(fitted_values).lower(*episodes(0, 2)).as_text()
    assert "lapack" not in program.lower()
