"""What it is worth to rank rows by uncertainty: telling the unknown apart, refusing to answer."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


def auroc(
    scores_positive: Float[Array, "*positives"], scores_negative: Float[Array, "*negatives"]
) -> Float[Array, ""]:
    r"""The probability that a positive outranks a negative, ties counted half.

    .. math:: \frac1{PN} \sum_{i,j} \mathbf 1\{s_i > t_j\} + \tfrac12 \mathbf 1\{s_i = t_j\}

    1 is a perfect separation, ½ is chance. With queries of unknown classes as positives, entropy,
    mutual information or 1 − confidence as scores tell how well uncertainty finds them.

    Arguments:
        scores_positive: s, of any shape.
        scores_negative: t, of any shape.

    Returns:
        The area under the ROC curve, by ranks; NaN if a score is.

    >>> auroc(jnp.array([2.0, 3.0]), jnp.array([1.0, 2.0]))
    Array(0.875, dtype=float32)
    """
    positive, negative = scores_positive.reshape(-1), jnp.sort(scores_negative.reshape(-1))
    if positive.size == 0 or negative.size == 0:
        raise ValueError(
            f"auroc needs scores of both kinds, but has {positive.size} positive and {negative.size} "
            "negative ones."
        )
    below = jnp.searchsorted(negative, positive, side="left")
    below_or_equal = jnp.searchsorted(negative, positive, side="right")
    # As shares first: the number of pairs may be too large for an integer.
    shares = (below + below_or_equal).astype(positive.dtype) / (2 * negative.size)
    unknown = jnp.any(jnp.isnan(positive)) | jnp.any(jnp.isnan(negative))
    return jnp.where(unknown, jnp.nan, jnp.mean(shares))


class RefusalCurve(NamedTuple):
    """Accuracy on the rest, for each share of rows that is refused, from 0 to (n−1)/n."""

    refused: Float[Array, " rows"]
    accuracy: Float[Array, " rows"]


def refusal_curve(uncertainty: Float[Array, "*shape"], correct: Bool[Array, "*shape"]) -> RefusalCurve:
    r"""How accurate the answers are when the most uncertain rows get none.

    .. math:: a_k = \frac1{n-k} \sum_{i \le n-k} \mathbf 1\{\hat y_i = y_i\}
        \quad\text{with rows from certain to uncertain, } k = 0..n-1

    Rows of equal uncertainty count as if in random order, so that a constant uncertainty gives a
    flat curve.

    Arguments:
        uncertainty: such as `entropy` or −`confidence`, of any shape.
        correct: whether the answer is right, `prediction.labels == y`.

    Returns:
        The curve; it rises if uncertainty knows where the mistakes are.

    >>> refusal_curve(jnp.array([0.1, 0.9]), jnp.array([True, False])).accuracy
    Array([0.5, 1. ], dtype=float32)
    """
    order = jnp.argsort(uncertainty.reshape(-1))
    ranked = uncertainty.reshape(-1)[order]
    right = correct.reshape(-1)[order].astype(ranked.dtype)
    total = jnp.concatenate([jnp.zeros(1, ranked.dtype), jnp.cumsum(right)])
    first = jnp.searchsorted(ranked, ranked, side="left")
    end = jnp.searchsorted(ranked, ranked, side="right")
    expected = (total[end] - total[first]) / (end - first).astype(ranked.dtype)
    rows = jnp.arange(ranked.size, dtype=ranked.dtype)
    accuracy = jnp.cumsum(expected) / (rows + 1)
    return RefusalCurve(rows / ranked.size, accuracy[::-1])
