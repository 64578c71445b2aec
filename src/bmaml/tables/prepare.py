"""From a table to training, validation and test tasks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool

from bmaml.errors import BmamlError
from bmaml.ranges import told_rows
from bmaml.tables.cells import filled_of, texts_of
from bmaml.tables.encoding import Encoding, chosen_columns, known
from bmaml.tables.grouping import TaskRows, group_rows, sort_rows
from bmaml.tables.names import column_of, require_columns
from bmaml.tables.split import Part, split_tasks
from bmaml.tables.targets import ClassTarget

if TYPE_CHECKING:
    import pandas

__all__ = ["Prepared", "TaskRows", "group_rows", "prepare"]

# One row to adapt to, one to be judged by.
FEWEST_ROWS = 2


@dataclass(frozen=True)
class Prepared:
    """A table ready to train on.

    Arguments:
        encoding: how its rows are encoded.
        parts: the rows of the training, validation and test tasks.
        notes: what was left out or filled, a sentence each.
    """

    encoding: Encoding
    parts: dict[Part, TaskRows]
    notes: tuple[str, ...]


def prepare(
    frame: "pandas.DataFrame",
    *,
    task: str,
    target: str,
    features: Sequence[str] | None = None,
    kind: Literal["numbers", "labels"] | None = None,
    validation_share: float = 0.15,
    test_share: float = 0.15,
    seed: int = 0,
    encoding: Encoding | None = None,
    deal: Callable[[list[str]], dict[Part, list[str]]] | None = None,
) -> Prepared:
    """Split a table into tasks for training, validation and test, and encode its rows.

    Rows without a task or a target are left out, and tasks with fewer than two others.

    Arguments:
        frame: the table, one row an observation.
        task: the column that says which task a row belongs to.
        target: the column to predict.
        features: the columns to predict from; None is all others.
        kind: of target; None is what it looks like (see `Encoding.learn`).
        validation_share: of the tasks.
        test_share: of the tasks.
        seed: of the split.
        encoding: to use instead of learning one from the training tasks.
        deal: says which of the given names of tasks are in which part, instead of shares and seed.
    """
    if encoding is None:
        frame, _ = chosen_columns(frame, task, target, features)
    elif encoding.target != target:
        raise BmamlError(f"The encoding is of the target {encoding.target!r}, not {target!r}.")
    else:
        frame = require_columns(frame, [task, target])
    tasks = texts_of(column_of(frame, task))
    named, targeted = tasks.codes >= 0, filled_of(column_of(frame, target))
    _refuse_empty(column_of(frame, target), targeted)
    counts = np.bincount(tasks.codes[named & targeted], minlength=len(tasks.values))
    large = counts >= FEWEST_ROWS
    usable = named & targeted & np.append(large, False)[tasks.codes]
    notes = [
        *_left_out(np.count_nonzero(~named), f"whose {task!r} is empty"),
        *_left_out(np.count_nonzero(named & ~targeted), f"whose {target!r} is empty or infinite"),
        *_too_small(np.count_nonzero(~large)),
    ]
    names = tasks.values[large].tolist()
    shares = {"validation_share": validation_share, "test_share": test_share}
    split = split_tasks(names, **shares, seed=seed) if deal is None else deal(names)
    number = {name: place for place, names in enumerate(split.values()) for name in names}
    part_of_task = np.array([number.get(name, -1) for name in tasks.values.tolist()], np.int8)
    part_of_row = np.append(part_of_task, np.int8(-1))[tasks.codes]
    if encoding is None:
        encoding, left_out = Encoding.learn_with_notes(
            frame,
            task=task,
            target=target,
            features=features,
            kind=kind,
            rows=np.flatnonzero(usable & (part_of_row == 0)),
        )
        notes += left_out
        if kind is None and isinstance(encoding.targets, ClassTarget):
            notes += _told_classes(encoding.targets, target)
    x, y = encoding.inputs(frame), encoding.targets.encode(column_of(frame, target))
    unknown = usable & ~known(y)
    if unknown.any():
        usable &= ~unknown
        notes += _left_out(np.count_nonzero(unknown), "of a class that no training task has")
        counts = np.bincount(tasks.codes[usable], minlength=len(tasks.values))
        usable &= np.append(counts >= FEWEST_ROWS, False)[tasks.codes]
        notes += _too_small(np.count_nonzero(large & (counts < FEWEST_ROWS)))
    parts: dict[Part, TaskRows] = {
        part: sort_rows(x, y, tasks, np.flatnonzero(usable & (part_of_row == place)))[0]
        for place, part in enumerate(split)
    }
    for part, names in split.items():
        if names and not parts[part].names:
            raise BmamlError(
                f"No {part} task has two rows whose {target!r} is known from training: use another "
                "seed, or a table with more tasks."
            )
    used = np.flatnonzero(usable)
    sentences = [column.note(column_of(frame, column.name).iloc[used]) for column in encoding.features]
    notes += [sentence for sentence in sentences if sentence is not None]
    return Prepared(encoding, parts, tuple(notes))


def _refuse_empty(series: "pandas.Series", targeted: Bool[np.ndarray, " rows"]) -> None:
    """Refuse a target that no row has, which would else seem to be a matter of too few tasks."""
    if len(series) == 0 or targeted.any():
        return
    infinite = " or infinite" if bool((texts_of(series).codes >= 0).any()) else ""
    raise BmamlError(
        f"The target {str(series.name)!r} is empty{infinite} in all rows: fill it in, or name another "
        "column."
    )


def _told_classes(targets: ClassTarget, name: str) -> list[str]:
    """That whole numbers were taken for classes, which may be a mistake."""
    if not all(type(label) is int for label in targets.classes):
        return []
    return [
        f"The target {name!r} has {len(targets.classes)} different whole numbers, which are taken for "
        "classes: ask for numbers if they are amounts."
    ]


def _left_out(count: int | np.integer, why: str) -> list[str]:
    return [f"Left out: {told_rows(count)} {why}."] if count else []


def _too_small(count: int | np.integer) -> list[str]:
    told = "1 task" if count == 1 else f"{count:,} tasks"
    return [f"Left out: {told} with fewer than {FEWEST_ROWS} rows that count."] if count else []
