"""Every metric that fits a prediction, by name: of one task, and over many."""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float

from bmaml.metrics.classification import score_classification
from bmaml.metrics.regression import score_regression
from bmaml.metrics.rows import Mask
from bmaml.predictive import ClassificationPrediction, RegressionPrediction


class Kind(NamedTuple):
    """How one kind of prediction is scored, and the metrics that get an interval."""

    score: Callable[[Any, Any, Mask], dict[str, Any]]
    with_interval: tuple[str, ...]


# A new kind of prediction is one line here.
KINDS: dict[type, Kind] = {
    RegressionPrediction: Kind(score_regression, ("mse", "coverage")),
    ClassificationPrediction: Kind(score_classification, ("accuracy",)),
}


@runtime_checkable
class Pooled(Protocol):
    """A score of one task that is no number: stacked over tasks, it becomes one."""

    def summary(self) -> Array:
        """The number for all tasks together."""
        ...


def score(prediction: Any, y: Any, mask: Mask = None) -> dict[str, Any]:
    """Every metric of one task's prediction by its short name.

    Arguments:
        prediction: of one task; its type says which metrics there are.
        y: targets of the rows' shape.
        mask: the rows that count.

    Returns:
        Numbers, and for what cannot be averaged over tasks (calibration) sums to be pooled. A pytree
        whose leaves stack under `vmap`.

    >>> sorted(score(RegressionPrediction(jnp.zeros((2, 1)), jnp.ones(2)), 0.0))
    ['coverage', 'crps', 'mse', 'nll', 'particle_mse']
    """
    kind = KINDS.get(type(prediction))
    if kind is None:
        raise TypeError(
            f"No metrics are known for a {type(prediction).__name__}: add it to metrics.scoring.KINDS."
        )
    return kind.score(prediction, y, mask)


def summarise(scores: Mapping[str, Any]) -> dict[str, Float[Array, ""]]:
    r"""The scores of many tasks as one number each.

    Metrics are averaged over the T tasks; pooled ones (`Calibration`) are computed over all rows of
    all tasks. "mse", "coverage" and "accuracy" also have the half-width of a 95 % interval for the
    mean, with s the sample standard deviation over tasks:

    .. math:: 1.96\, s / \sqrt T

    Arguments:
        scores: of `score`, stacked over tasks on the first axis.

    Returns:
        Scalars by name, such as "accuracy", "accuracy_interval", "nll" and "ece". An interval is NaN
        for one task, which says nothing of the spread.

    >>> summarise({"mse": jnp.array([1.0, 3.0]), "nll": jnp.array([0.5, 1.5])})["mse"]
    Array(2., dtype=float32)
    """
    with_interval = {name for kind in KINDS.values() for name in kind.with_interval}
    summary = {}
    for name, values in scores.items():
        if isinstance(values, Pooled):
            summary[name] = values.summary()
            continue
        summary[name] = jnp.mean(values)
        if name in with_interval:
            summary[f"{name}_interval"] = _half_width(values)
    return summary


def _half_width(values: Float[Array, " tasks"]) -> Float[Array, ""]:
    """1.96 standard errors of the mean."""
    if values.shape[0] < 2:
        return jnp.full((), jnp.nan, values.dtype)
    return 1.96 * jnp.std(values, ddof=1) / math.sqrt(values.shape[0])
