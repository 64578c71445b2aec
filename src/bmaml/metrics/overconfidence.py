"""How much too sure predictions are, for any kind of prediction that can be made surer."""

from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bmaml.metrics.likelihood import HasLogProb, negative_log_likelihood
from bmaml.metrics.rows import Mask

# The logarithms of the factors on the precision that are tried. What is best lies between two of them,
# and is read off a parabola.
SPACING = 0.4
LOG_FACTORS = SPACING * np.arange(-20, 21)


@runtime_checkable
class Sharpenable(HasLogProb, Protocol):
    """A prediction that can be made surer."""

    def sharpened(self, log_factor: Any) -> HasLogProb:
        """The same with precisions, or logits, times e^log_factor."""
        ...


class SharpnessCurve(NamedTuple):
    """The negative log-likelihood of a task, its precision times each of the factors.

    The curves of several tasks, stacked on a leading axis, are averaged before the best is looked for.
    """

    nll: Float[Array, "*tasks factors"]

    def summary(self) -> Float[Array, ""]:
        r"""The logarithm of the factor by which precisions are too high; negative if too low.

        .. math:: -\arg\min_c \left[\frac1T \sum_\tau \mathrm{NLL}_\tau(e^c) + \frac{c^2}{2T}\right]

        Guo et al. 2017 fit a temperature so, on held-out rows. The second term is a standard normal
        prior on c, in which a task counts as one observation: with a handful of tasks the best factor
        is mostly chance. At most 8 either way, a factor of 3000.
        """
        curves = self.nll.reshape(-1, self.nll.shape[-1])
        factors = jnp.asarray(LOG_FACTORS, curves.dtype)
        curve = jnp.mean(curves, axis=0) + jnp.square(factors) / (2 * curves.shape[0])
        curve = jnp.where(jnp.isfinite(curve), curve, jnp.inf)
        lowest = jnp.clip(jnp.argmin(curve), 1, len(LOG_FACTORS) - 2)
        before, at, after = (curve[lowest + offset] for offset in (-1, 0, 1))
        # The vertex of the parabola through three points, one spacing away at most.
        curvature = before - 2.0 * at + after
        bent = jnp.isfinite(curvature) & (curvature > 0)
        offset = jnp.where(bent, 0.5 * (before - after) / jnp.where(bent, curvature, 1.0), 0.0)
        best = factors[lowest] + SPACING * jnp.clip(offset, -1.0, 1.0)
        return jnp.where(jnp.any(jnp.isfinite(curve)), -best, 0.0)


def sharpness_curve(prediction: Sharpenable, y: Any, mask: Mask = None) -> SharpnessCurve:
    """The curve of one task.

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        mask: the rows that count.

    >>> from bmaml.predictive import RegressionPrediction
    >>> tasks = RegressionPrediction(jnp.zeros((100, 1, 5)), jnp.ones((100, 1)))
    >>> curves = jax.vmap(sharpness_curve)(tasks, 2.0 * jnp.ones((100, 5)))
    >>> print(f"{jnp.exp(curves.summary()):.1f}")  # It should be four.
    3.9
    """

    def nll(log_factor: Float[Array, ""]) -> Float[Array, ""]:
        return negative_log_likelihood(prediction.sharpened(log_factor), y, mask)

    return SharpnessCurve(jax.vmap(nll)(jnp.asarray(LOG_FACTORS, jnp.float32)))
