"""How good a regression is, each a mean over the rows that count: error, coverage, CRPS."""

import math

import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from bmaml.metrics.likelihood import negative_log_likelihood
from bmaml.metrics.rows import Mask, mean_of_rows
from bmaml.predictive import RegressionPrediction, Targets


def ensemble_mse(prediction: RegressionPrediction, y: Targets, mask: Mask = None) -> Float[Array, ""]:
    r"""The squared error of the mean prediction.

    .. math:: \left(y - \frac1M \sum_m f_m(x)\right)^2

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over rows.

    >>> ensemble_mse(RegressionPrediction(jnp.array([[0.0], [2.0]]), jnp.ones(2)), 1.0)
    Array(0., dtype=float32)
    """
    return mean_of_rows(jnp.square(jnp.mean(prediction.residuals(y), axis=0)), mask)


def particle_mse(prediction: RegressionPrediction, y: Targets, mask: Mask = None) -> Float[Array, ""]:
    r"""The squared error of a particle by itself, on average.

    .. math:: \frac1M \sum_m (y - f_m(x))^2 = (y - \bar f(x))^2 + \mathrm{Var}_m[f_m(x)]

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over particles and rows; `ensemble_mse` plus the mean epistemic variance.

    >>> particle_mse(RegressionPrediction(jnp.array([[0.0], [2.0]]), jnp.ones(2)), 1.0)
    Array(1., dtype=float32)
    """
    return mean_of_rows(jnp.mean(jnp.square(prediction.residuals(y)), axis=0), mask)


def coverage(
    prediction: RegressionPrediction, y: Targets, level: ArrayLike = 0.9, mask: Mask = None
) -> Float[Array, ""]:
    r"""The share of targets inside the central interval; near `level` if uncertainty is honest.

    .. math:: \mathbf 1\{F^{-1}(\tfrac{1-\ell}{2}) \le y \le F^{-1}(\tfrac{1+\ell}{2})\}

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        level: ℓ, in (0, 1).
        mask: the rows that count.

    Returns:
        The mean over rows.

    >>> prediction = RegressionPrediction(jnp.zeros((1, 2)), jnp.ones(1))
    >>> coverage(prediction, jnp.array([1.0, 3.0]))
    Array(0.5, dtype=float32)
    """
    return mean_of_rows(prediction.covers(y, level).astype(prediction.means.dtype), mask)


def crps(prediction: RegressionPrediction, y: Targets, mask: Mask = None) -> Float[Array, ""]:
    r"""The continuous ranked probability score, in the units of y; lower is better.

    .. math::
        \int (F(z) - \mathbf 1\{y \le z\})^2 dz
        = \frac1M \sum_m A\left(y - f_m, \sigma_m^2\right)
        - \frac1{2M^2} \sum_{m,k} A\left(f_m - f_k, \sigma_m^2 + \sigma_k^2\right)

    with A(μ, σ²) = E|N(μ, σ²)| = 2σ φ(μ/σ) + μ (2Φ(μ/σ) − 1) and σ_m² = 1/γ_m; the second sum is
    twice that over m < k, plus A(0, 2σ_m²) = 2σ_m/√π for k = m. Without noise and with one particle it
    is the absolute error. Eq. 5, Grimit et al. 2006.

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over rows. Takes memory for particles² × rows.

    >>> print(f"{crps(RegressionPrediction(jnp.zeros((1, 1)), jnp.ones(1)), 0.0):.4f}")
    0.2337
    """
    size, *rows = prediction.samples.shape
    # Rows flat: a last axis of one, as of most targets, makes this far slower on a CPU.
    parts = jnp.broadcast_arrays(prediction.samples, prediction.scales, prediction.residuals(y))
    means, scales, residuals = (part.reshape(size, -1) for part in parts)
    to_target = jnp.mean(_mean_absolute(residuals, scales), axis=0)
    one, other = np.triu_indices(size, 1)
    gaps = _mean_absolute(means[one] - means[other], jnp.hypot(scales[one], scales[other]))
    to_themselves = jnp.sum(scales, axis=0) / math.sqrt(math.pi)
    to_each_other = (jnp.sum(gaps, axis=0) + to_themselves) / size**2
    return mean_of_rows((to_target - to_each_other).reshape(rows), mask)


def score_regression(
    prediction: RegressionPrediction, y: Targets, mask: Mask = None
) -> dict[str, Float[Array, ""]]:
    """Every metric of a regression by its short name.

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        mask: the rows that count.

    Returns:
        "mse", "particle_mse", "nll", "coverage" (of the 90% interval) and "crps".

    >>> sorted(score_regression(RegressionPrediction(jnp.zeros((2, 1)), jnp.ones(2)), 0.0))
    ['coverage', 'crps', 'mse', 'nll', 'particle_mse']
    """
    return {
        "mse": ensemble_mse(prediction, y, mask),
        "particle_mse": particle_mse(prediction, y, mask),
        "nll": negative_log_likelihood(prediction, y, mask),
        "coverage": coverage(prediction, y, mask=mask),
        "crps": crps(prediction, y, mask),
    }


def _mean_absolute(mean: Float[Array, "*shape"], std: Float[Array, "..."]) -> Float[Array, "*shape"]:
    """A(μ, σ²) = E|N(μ, σ²)|, with 2Φ(z) − 1 as erf(z/√2), which is exact near zero."""
    z = mean / std
    density = jnp.exp(-0.5 * jnp.square(z)) / math.sqrt(2 * math.pi)
    return 2 * std * density + mean * erf(z / math.sqrt(2))
