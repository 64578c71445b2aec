"""Rows of a table sorted by task, as arrays."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from bmaml.errors import BmamlError
from bmaml.tables.cells import Texts, texts_of
from bmaml.tables.encoding import Encoding
from bmaml.tables.names import column_of, require_columns

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class TaskRows:
    """Rows sorted by task: those of task i are `starts[i] : starts[i] + counts[i]`.

    Arguments:
        x: inputs, `(rows, width)`.
        y: targets, `(rows, 1)` numbers or `(rows,)` labels; None for rows to predict.
        starts: the first row of each task.
        counts: how many rows each task has, at least one.
        names: of the tasks, in alphabetical order.
    """

    x: Float[np.ndarray, "rows width"]
    y: Any
    starts: Int[np.ndarray, " tasks"]
    counts: Int[np.ndarray, " tasks"]
    names: tuple[str, ...]


def group_rows(
    frame: "pandas.DataFrame", encoding: Encoding, *, with_targets: bool
) -> tuple[TaskRows, Int[np.ndarray, " rows"]]:
    """Encode the rows of a support or query table, and sort them by task.

    A frame without the column of tasks is of one task, whose name is "".

    Arguments:
        frame: the table.
        encoding: learned in training.
        with_targets: whether each row must have a target.

    Returns:
        The rows, and for each of them its place in `frame`.
    """
    frame = require_columns(frame, [])
    x = encoding.inputs(frame)
    y = encoding.targets_of(frame) if with_targets else None
    if encoding.task is None or encoding.task not in frame.columns:
        tasks = Texts(np.zeros(len(frame), np.int64), np.array([""], object))
    else:
        tasks = texts_of(column_of(require_columns(frame, [encoding.task]), encoding.task))
        nameless = np.flatnonzero(tasks.codes < 0)
        if len(nameless) > 0:
            raise BmamlError(
                f"Data row {nameless[0] + 1} does not say which task it belongs to, as its column "
                f"{encoding.task!r} is empty: fill it in or leave the row out."
            )
    return sort_rows(x, y, tasks, np.arange(len(frame)))


def sort_rows(
    x: Float[np.ndarray, "all width"],
    y: Shaped[np.ndarray, "all ..."] | None,
    tasks: Texts,
    chosen: Int[np.ndarray, " rows"],
) -> tuple[TaskRows, Int[np.ndarray, " rows"]]:
    """The `chosen` rows by task, each task's in their order; and their places among all."""
    alphabetical = np.argsort(tasks.values, kind="stable")
    rank = np.empty_like(alphabetical)
    rank[alphabetical] = np.arange(len(alphabetical))
    ranks = rank[tasks.codes[chosen]]
    order = chosen[np.argsort(ranks, kind="stable")]
    counts = np.bincount(ranks, minlength=len(rank))
    present = np.flatnonzero(counts)
    counts = counts[present].astype(np.int32)
    starts = (np.cumsum(counts) - counts).astype(np.int32)
    names = tuple(tasks.values[alphabetical[present]].tolist())
    return TaskRows(x[order], None if y is None else y[order], starts, counts, names), order
