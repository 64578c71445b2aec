"""How surprising the targets are, for any kind of prediction."""

from typing import Any, Protocol, runtime_checkable

from jaxtyping import Array, Float

from bmaml.metrics.rows import Mask, mean_of_rows


@runtime_checkable
class HasLogProb(Protocol):
    """A prediction that knows the log probability, or density, of targets."""

    def log_prob(self, y: Any) -> Array:
        """log p(y | x, D) at each row."""
        ...


def negative_log_likelihood(prediction: HasLogProb, y: Any, mask: Mask = None) -> Float[Array, ""]:
    r"""How surprising the targets are under the mixture of particles, in nats.

    .. math:: -\log \frac1M \sum_m p(y \mid x, \theta^m)

    Arguments:
        prediction: of one task.
        y: targets of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over rows.

    >>> import jax.numpy as jnp
    >>> from bmaml.predictive import RegressionPrediction
    >>> prediction = RegressionPrediction(jnp.zeros((2, 1)), jnp.ones(2))
    >>> print(f"{negative_log_likelihood(prediction, 0.0):.4f}")
    0.9189
    """
    return -mean_of_rows(prediction.log_prob(y), mask)
