"""Whether a classifier is right as often as it says: expected calibration error, reliability."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from bmaml.metrics.rows import Mask
from bmaml.predictive import ClassificationPrediction, Labels


class Calibration(NamedTuple):
    r"""Sums over rows in B bins of equal width, by confidence; bin b holds ((b−1)/B, b/B].

    They add up: those of several tasks, stacked on leading axes, are `pool`ed before anything is
    divided. The error of a handful of rows is mostly chance, and chance never cancels in a mean of
    absolute values, so a mean of the tasks' errors would be far too high.

    Arguments:
        counts: $n_b$, how many rows.
        confidences: $\sum_{i \in b} \max_c \bar p_{ic}$.
        corrects: $\sum_{i \in b} \mathbf 1\{\hat y_i = y_i\}$.
    """

    counts: Float[Array, "*tasks bins"]
    confidences: Float[Array, "*tasks bins"]
    corrects: Float[Array, "*tasks bins"]

    def pool(self) -> "Calibration":
        """The sums over all tasks."""
        bins = self.counts.shape[-1]
        return Calibration(*(jnp.sum(part.reshape(-1, bins), axis=0) for part in self))

    def summary(self) -> Float[Array, ""]:
        r"""The expected calibration error over all rows of all tasks.

        .. math:: \sum_b \frac{n_b}{n} \left|\mathrm{accuracy}_b - \mathrm{confidence}_b\right|

        Guo et al. 2017. Between 0 and 1; above zero by chance even for an honest classifier, less
        so for more rows.

        >>> bins = Calibration(jnp.array([0.0, 4.0]), jnp.array([0.0, 3.6]), jnp.array([0.0, 2.0]))
        >>> print(f"{bins.summary():.2f}")
        0.40
        """
        pooled = self.pool()
        return jnp.sum(jnp.abs(pooled.corrects - pooled.confidences)) / jnp.sum(pooled.counts)


class Reliability(NamedTuple):
    """What a reliability diagram shows, for each bin; NaN where a bin is empty."""

    centres: Float[Array, " bins"]
    accuracy: Float[Array, " bins"]
    confidence: Float[Array, " bins"]
    counts: Float[Array, " bins"]


def calibration(
    prediction: ClassificationPrediction, y: Labels, bins: int = 15, mask: Mask = None
) -> Calibration:
    """Sort the rows of one task by confidence into bins, and count.

    Arguments:
        prediction: of one task.
        y: labels of the rows' shape.
        bins: B, how many.
        mask: the rows that count.

    Returns:
        The sums, to be added to those of other tasks.

    >>> prediction = ClassificationPrediction(jnp.log(jnp.array([[[0.9, 0.1], [0.4, 0.6]]])))
    >>> calibration(prediction, jnp.array([0, 0]), bins=2).corrects
    Array([0., 1.], dtype=float32)
    """
    if bins < 1:
        raise ValueError(f"bins is {bins}; there must be at least one.")
    confidence = prediction.confidence.reshape(-1)
    correct = (prediction.labels == prediction.targets(y)).reshape(-1).astype(confidence.dtype)
    index = jnp.clip(jnp.ceil(confidence * bins) - 1, 0, bins - 1).astype(jnp.int32)
    member = (index[:, None] == jnp.arange(bins, dtype=jnp.int32)[None]).astype(confidence.dtype)
    if mask is not None:
        rows = prediction.confidence.shape
        counts = jnp.broadcast_to(mask.reshape(-1, *(1,) * (len(rows) - 1)), rows).reshape(-1)
        member = jnp.where(counts[:, None], member, 0.0)
    # Not a matrix product, which accelerators would round to fewer digits.
    binned = lambda values: jnp.sum(values[:, None] * member, axis=0)  # noqa: E731
    return Calibration(jnp.sum(member, axis=0), binned(confidence), binned(correct))


def reliability(statistics: Calibration) -> Reliability:
    """Accuracy against confidence, bin by bin: equal if the classifier is honest.

    Arguments:
        statistics: of one task, or stacked of several, which are pooled.

    Returns:
        The bins' centres, accuracies, mean confidences and numbers of rows.

    >>> bins = Calibration(jnp.array([0.0, 4.0]), jnp.array([0.0, 3.6]), jnp.array([0.0, 2.0]))
    >>> reliability(bins).accuracy
    Array([nan, 0.5], dtype=float32)
    """
    counts, confidences, corrects = statistics.pool()
    bins = counts.shape[0]
    centres = (jnp.arange(bins, dtype=counts.dtype) + 0.5) / bins
    empty = counts == 0
    divisor = jnp.where(empty, 1.0, counts)
    mean = lambda sums: jnp.where(empty, jnp.nan, sums / divisor)  # noqa: E731
    return Reliability(centres, mean(corrects), mean(confidences), counts)
