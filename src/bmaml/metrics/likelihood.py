"""How surprising the targets are, for any kind of prediction."""

from typing import Any, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float


@runtime_checkable
class HasLogProb(Protocol):
    """A prediction that knows the log probability, or density, of targets."""

    def log_prob(self, y: Any) -> Array:
        """log p(y | x, D) at each row."""
        ...


def negative_log_likelihood(prediction: HasLogProb, y: Any) -> Float[Array, ""]:
    r"""How surprising the targets are under the mixture of particles, in nats.

    .. math:: -\log \frac1M \sum_m p(y \mid x, \theta^m)

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.

    Returns:
        The mean over rows.

    >>> from bmaml.predictive import RegressionPrediction
    >>> prediction = RegressionPrediction(jnp.zeros((2, 1)), jnp.ones(2))
    >>> print(f"{negative_log_likelihood(prediction, 0.0):.4f}")
    0.9189
    """
    return -jnp.mean(prediction.log_prob(y))
