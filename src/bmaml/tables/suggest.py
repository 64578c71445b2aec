"""Which rows of a table to measure or label next, and why."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bmaml.active.acquisitions import wanted
from bmaml.active.rounds import check_count
from bmaml.active.spread import spread_choice
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.tables.model import TableModel
from bmaml.tables.targets import NumberTarget

if TYPE_CHECKING:
    import pandas


class SuggestedRow(NamedTuple):
    """A row of the pool, by its place from 0 on; `score` is higher for the more wanted."""

    row: int
    score: float
    reason: str


def suggest_rows(
    model: TableModel,
    pool: "pandas.DataFrame",
    support: "pandas.DataFrame | None" = None,
    count: int = 5,
    *,
    acquisition: str | None = None,
    steps: int | None = None,
) -> list[SuggestedRow]:
    """The rows of `pool` that would tell most, the most wanted first.

    For numbers each row is the one about which the particles disagree most, given that those before
    it are measured (`active.spread_choice`); for labels those with the highest entropy, or another
    acquisition of `active.ACQUISITIONS`. Rows that equal one already taken come last.

    Arguments:
        model: trained on a table.
        pool: rows that could be measured; the target is not needed.
        support: what is known of the task so far; None is nothing.
        count: how many rows.
        acquisition: for labels; None is "entropy".
        steps: inner updates; None is the trained number.
    """
    check_count(count, len(pool))
    target = model.encoding.targets
    if isinstance(target, NumberTarget):
        if acquisition not in (None, "variance"):
            raise ValueError(
                f"The acquisition {acquisition!r} is for labels: leave it out for numbers."
            )
        kept = model.predict_kept(pool, support, _samples, steps=steps, what="pool")
        return [
            SuggestedRow(row, target.std * left, _number_reason(kept, row, left, target))
            for row, left in _spread(kept, _distinct(model.encoding.inputs(pool)), count)
        ]
    predictions = model.predict_kept(pool, support, _Scored(acquisition), steps=steps, what="pool")
    distinct = _distinct(model.encoding.inputs(pool))
    order = np.lexsort((-predictions["score"], ~distinct))[:count]
    return [
        SuggestedRow(
            int(row),
            float(predictions["score"][row]),
            class_reason(target.classes, predictions["probabilities"][row]),
        )
        for row in order
    ]


def class_reason(classes: tuple, probabilities: Float[np.ndarray, " classes"]) -> str:
    """The two classes that a row is most likely of.

    >>> class_reason(("elm", "oak"), np.array([0.38, 0.62]))
    "could be 'oak' (62 %) or 'elm' (38 %)"
    """
    first, second = np.argsort(-probabilities, kind="stable")[:2]
    told = [
        f"{str(classes[place])!r} ({100 * probabilities[place]:.0f} %)" for place in (first, second)
    ]
    return f"could be {told[0]} or {told[1]}"


def _spread(
    kept: dict[str, np.ndarray], distinct: Bool[np.ndarray, " rows"], count: int
) -> Iterator[tuple[int, float]]:
    """Rows, and the deviation that each still has when it is chosen; copies last."""
    noise = float(np.mean(np.square(kept["noise_std"])))
    for rows in (np.flatnonzero(distinct), np.flatnonzero(~distinct)):
        most = min(count, len(rows))
        count -= most
        if most > 0:
            chosen, variances = spread_choice(jnp.asarray(kept["samples"][rows].T), noise, most)
            left = np.sqrt(np.asarray(variances)).tolist()
            yield from zip(rows[np.asarray(chosen)].tolist(), left, strict=True)


def _number_reason(kept: dict[str, np.ndarray], row: int, left: float, target: NumberTarget) -> str:
    samples = kept["samples"][row]
    mean, spread = target.mean + target.std * samples.mean(), samples.std()
    reason = (
        f"predicted {mean:.4g} ± {target.std * kept['std'][row]:.3g}, of which "
        f"± {target.std * spread:.3g} is what the particles disagree about"
    )
    if left < 0.7 * spread:
        reason += f"; ± {target.std * left:.3g} is left once the rows above are measured"
    return reason


def _samples(prediction: RegressionPrediction) -> dict[str, Float[Array, "rows ..."]]:
    return {
        "samples": prediction.samples[:, :, 0].T,
        "std": prediction.std[:, 0],
        "noise_std": prediction.noise_std[:, 0],
    }


class _Scored(NamedTuple):
    """Probabilities, and how much a label is wanted; equal ones share compiled code."""

    acquisition: str | None

    def __call__(self, prediction: ClassificationPrediction) -> dict[str, Any]:
        scores = wanted(self.acquisition, prediction)
        return {"probabilities": prediction.probabilities, "score": scores}


def _distinct(inputs: Float[np.ndarray, "rows width"]) -> Bool[np.ndarray, " rows"]:
    """Whether a row's inputs stood in no row before it."""
    _, first = np.unique(inputs, axis=0, return_index=True)
    distinct = np.zeros(len(inputs), bool)
    distinct[first] = True
    return distinct
