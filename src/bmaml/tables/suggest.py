"""Which rows of a table to measure or label next, and why."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from bmaml.active.acquisitions import wanted
from bmaml.active.rounds import check_count
from bmaml.active.spread import spread_choice
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.tables.cells import texts_of
from bmaml.tables.encoding import Encoding
from bmaml.tables.model import TableModel
from bmaml.tables.names import column_of, require_columns
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
    seed: int = 0,
) -> list[SuggestedRow]:
    """The rows of `pool` that would tell most, the most wanted first.

    For numbers each row is the one about which the particles disagree most, given that those before
    it of the same task are measured (`active.spread_choice`); for labels those with the highest
    entropy, or another acquisition of `active.ACQUISITIONS`. Rows that equal one of their task that is
    already taken come last.

    Arguments:
        model: trained on a table.
        pool: rows that could be measured; the target is not needed.
        support: what is known of the task so far; None is nothing.
        count: how many rows.
        acquisition: for labels; None is "entropy".
        steps: inner updates; None is the trained number.
        seed: decides between rows that are wanted alike.
    """
    check_count(count, len(pool))
    target = model.encoding.targets
    if isinstance(target, NumberTarget):
        if acquisition not in (None, "variance"):
            raise ValueError(
                f"The acquisition {acquisition!r} is for labels: leave it out for numbers."
            )
        kept = model.predict_kept(pool, support, _samples, steps=steps, what="pool")
        tasks = _tasks(model.encoding, pool)
        distinct = _distinct(model.encoding.inputs(pool), tasks)
        return [
            SuggestedRow(row, target.std * left, _number_reason(kept, row, left, target))
            for row, left in _spread(kept, tasks, distinct, count)
        ]
    predictions = model.predict_kept(pool, support, _Scored(acquisition), steps=steps, what="pool")
    distinct = _distinct(model.encoding.inputs(pool), _tasks(model.encoding, pool))
    # The first of equals would be a choice of class in a pool that is sorted by it.
    ties = np.random.default_rng(seed).random(len(pool))
    order = np.lexsort((ties, -predictions["score"], ~distinct))[:count]
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
    kept: dict[str, np.ndarray],
    tasks: Int[np.ndarray, " rows"],
    distinct: Bool[np.ndarray, " rows"],
    count: int,
) -> Iterator[tuple[int, float]]:
    """Rows, and the deviation that each still has when it is chosen; copies last."""
    for rows in (np.flatnonzero(distinct), np.flatnonzero(~distinct)):
        most = min(count, len(rows))
        count -= most
        if most > 0:
            yield from _spread_in_tasks(kept, tasks, rows, most)


def _spread_in_tasks(
    kept: dict[str, np.ndarray],
    tasks: Int[np.ndarray, " all"],
    rows: Int[np.ndarray, " rows"],
    most: int,
) -> list[tuple[int, float]]:
    """As `_spread`, of some rows: measuring one tells nothing of another task."""
    uncertain = rows[np.argsort(-np.var(kept["samples"][rows], axis=1), kind="stable")]
    found: list[tuple[int, float]] = []
    # Of more tasks than rows are asked for, the most certain ones have none among them.
    for task in list(dict.fromkeys(tasks[uncertain].tolist()))[:most]:
        mine = rows[tasks[rows] == task]
        noise = float(np.mean(np.square(kept["noise_std"][tasks == task])))
        samples = jnp.asarray(kept["samples"][mine].T)
        chosen, variances = spread_choice(samples, noise, min(most, len(mine)))
        left = np.sqrt(np.asarray(variances)).tolist()
        found += zip(mine[np.asarray(chosen)].tolist(), left, strict=True)
    return sorted(found, key=lambda row_and_left: -row_and_left[1])[:most]


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


def _tasks(encoding: Encoding, pool: "pandas.DataFrame") -> Int[np.ndarray, " rows"]:
    """A number for the task of each row."""
    pool = require_columns(pool, [])
    if encoding.task is None or encoding.task not in pool.columns:
        return np.zeros(len(pool), np.int64)
    return texts_of(column_of(pool, encoding.task)).codes


def _distinct(
    inputs: Float[np.ndarray, "rows width"], tasks: Int[np.ndarray, " rows"]
) -> Bool[np.ndarray, " rows"]:
    """Whether a row's inputs stood in no row of its task before it."""
    _, first = np.unique(np.column_stack([tasks, inputs]), axis=0, return_index=True)
    distinct = np.zeros(len(inputs), bool)
    distinct[first] = True
    return distinct
