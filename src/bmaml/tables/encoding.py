"""How rows of a table become inputs and targets of a network."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Int, Shaped

from bmaml.errors import BmamlError
from bmaml.tables.cells import shortened, text_of, texts_of
from bmaml.tables.columns import CategoryColumn, DateColumn, NumberColumn
from bmaml.tables.learning import LeftOut, learn_column, learn_target
from bmaml.tables.names import column_of, require_columns
from bmaml.tables.spelling import looks_like
from bmaml.tables.stored import damaged, require, take
from bmaml.tables.targets import ClassTarget, NumberTarget

if TYPE_CHECKING:
    import pandas

FORMAT = 1
COLUMNS = {"number": NumberColumn, "date": DateColumn, "category": CategoryColumn}
TARGETS = {"numbers": NumberTarget, "labels": ClassTarget}


@dataclass(frozen=True)
class Encoding:
    """How rows become inputs and targets; learned on training tasks only, and plain values to store.

    Neither the order of columns nor columns that it does not name matter.

    Arguments:
        task: the column of task names; None if the tasks are told in another way.
        target: the column to predict.
        features: how each of the other columns is encoded, in the order of inputs.
        targets: how the target is encoded.
    """

    task: str | None
    target: str
    features: tuple[NumberColumn | DateColumn | CategoryColumn, ...]
    targets: NumberTarget | ClassTarget

    @property
    def kind(self) -> Literal["numbers", "labels"]:
        """What is predicted."""
        return "numbers" if isinstance(self.targets, NumberTarget) else "labels"

    @property
    def outputs(self) -> int:
        """What a network gives for a row: one number, or one for each class."""
        return 1 if isinstance(self.targets, NumberTarget) else len(self.targets.classes)

    @property
    def width(self) -> int:
        """How many inputs a row has."""
        return sum(column.width for column in self.features)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """The columns whose cells are names, to `read_table` as text: there, 01 is not 1."""
        names = [column.name for column in self.features if isinstance(column, CategoryColumn)]
        return (*names, *self.literal_columns)

    @property
    def literal_columns(self) -> tuple[str, ...]:
        """Those of names of classes and tasks, to `read_table` as they stand: there, NA is a name."""
        named = isinstance(self.targets, ClassTarget) and isinstance(self.targets.classes[0], str)
        return (*([self.target] if named else []), *([] if self.task is None else [self.task]))

    @classmethod
    def learn(
        cls,
        frame: "pandas.DataFrame",
        *,
        task: str | None,
        target: str,
        features: Sequence[str] | None = None,
        kind: Literal["numbers", "labels"] | None = None,
        rows: Int[np.ndarray, " chosen"] | None = None,
    ) -> "Encoding":
        """The encoding that suits the training rows.

        Arguments:
            frame: the table.
            task: its column of task names, if it has one.
            target: its column to predict.
            features: the columns to predict from; None is all others, in alphabetical order.
            kind: of target; None is "labels" for text, yes and no, and at most 10 different whole
                numbers, else "numbers".
            rows: the places of the rows to learn from; None is all. Nothing else is looked at.
        """
        learn = cls.learn_with_notes
        return learn(frame, task=task, target=target, features=features, kind=kind, rows=rows)[0]

    @classmethod
    def learn_with_notes(
        cls,
        frame: "pandas.DataFrame",
        *,
        task: str | None,
        target: str,
        features: Sequence[str] | None = None,
        kind: Literal["numbers", "labels"] | None = None,
        rows: Int[np.ndarray, " chosen"] | None = None,
    ) -> tuple["Encoding", tuple[str, ...]]:
        """As `learn`, with a sentence for each column that is left out or may be meant otherwise."""
        frame, names = chosen_columns(frame, task, target, features)
        rows = np.arange(len(frame)) if rows is None else rows
        if len(rows) == 0:
            raise BmamlError("The table has no rows to learn from: give a file with data.")

        def training(name: str) -> "pandas.Series":
            return column_of(frame, name).iloc[rows]

        targets = learn_target(training(target), kind, rows)
        # Rows without a task, -1 here, count as one more task.
        codes = np.zeros(len(rows), np.int64) if task is None else texts_of(training(task)).codes
        columns, reasons, lookalikes = [], {}, []
        for name in names:
            try:
                if features is None and name.startswith("Unnamed: "):
                    raise LeftOut("it has no name in the file, like the row numbers of a DataFrame")
                columns.append(learn_column(training(name), codes + 1, rows))
            except LeftOut as reason:
                reasons[name] = str(reason)
            if name in reasons or isinstance(columns[-1], CategoryColumn):
                lookalikes += _told_lookalike(training(name))
        if not columns:
            told = "; ".join(f"{name!r}: {reason}" for name, reason in list(reasons.items())[:10])
            raise BmamlError(
                "The table has no column to predict from "
                f"({told or 'there are but task and target'}): add one that differs between rows."
            )
        notes = (f"The column {name!r} is left out: {reason}." for name, reason in reasons.items())
        return cls(task, target, tuple(columns), targets), (*notes, *lookalikes)

    def inputs(self, frame: "pandas.DataFrame") -> Float[np.ndarray, "rows width"]:
        """The inputs of each row, always finite."""
        frame = require_columns(frame, [column.name for column in self.features])
        inputs = np.empty((len(frame), self.width), np.float32)
        first = 0
        for column in self.features:
            inputs[:, first : first + column.width] = column.encode(column_of(frame, column.name))
            first += column.width
        return inputs

    def targets_of(self, frame: "pandas.DataFrame") -> Shaped[np.ndarray, "rows ..."]:
        """The target of each row: standardised float32 `(rows, 1)`, or int32 labels `(rows,)`."""
        series = column_of(require_columns(frame, [self.target]), self.target)
        targets = self.targets.encode(series)
        bad = np.flatnonzero(~known(targets))
        if len(bad) == 0:
            return targets
        row = int(bad[0])
        if isinstance(self.targets, NumberTarget) or targets[row] == -1:
            raise BmamlError(
                f"Data row {row + 1} has no target, as its column {self.target!r} is empty or "
                "infinite: fill it in or leave the row out."
            )
        told = ", ".join(shortened(text_of(name)) for name in self.targets.classes[:10])
        raise BmamlError(
            f"Data row {row + 1} is of class {shortened(text_of(series.iloc[row]))}, which no training "
            f"task had: {self.target!r} can be {told}{', …' if self.outputs > 10 else ''}."
        )

    def outside(self, frame: "pandas.DataFrame", *, with_targets: bool = False) -> list[str]:
        """A sentence for each column where rows lie far outside what training tasks covered.

        That is beyond the training range by more than a quarter of it, of a category that no
        training row had, or missing where nothing was.
        """
        names = [column.name for column in self.features] + [self.target] * with_targets
        frame = require_columns(frame, names)
        sentences = [column.outside(column_of(frame, column.name)) for column in self.features]
        if with_targets:
            sentences.append(self.targets.outside(column_of(frame, self.target)))
        return [sentence for sentence in sentences if sentence is not None]

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {
            "format": FORMAT,
            "task": self.task,
            "target": self.target,
            "features": [column.to_json() for column in self.features],
            "targets": self.targets.to_json(),
        }

    @staticmethod
    def from_json(values: Any) -> "Encoding":
        """The encoding that `to_json` described; anything else is refused."""
        if not isinstance(values, dict) or "format" not in values:
            raise damaged("it has no format")
        if values["format"] != FORMAT or isinstance(values["format"], bool):
            raise BmamlError(
                f"The stored encoding of the table has format {values['format']!r}, but this version "
                f"of bmaml reads format {FORMAT}: use the version that wrote it, or train again."
            )
        kinds = {"features": list, "targets": object}
        taken = take(values, "it", format=object, task=object, target=str, **kinds)
        task, target = taken["task"], taken["target"]
        require(task is None or isinstance(task, str), "the name of the task column is not text")
        columns = tuple(_of_kind(COLUMNS, column) for column in taken["features"])
        names = [target, *([] if task is None else [task]), *(column.name for column in columns)]
        require(len(columns) > 0, "it has no features")
        require(len(set(names)) == len(names), "a column comes twice")
        return Encoding(task, target, columns, _of_kind(TARGETS, taken["targets"]))


def known(targets: Shaped[np.ndarray, "rows ..."]) -> Shaped[np.ndarray, " rows"]:
    """Which of encoded targets are there."""
    return targets >= 0 if targets.ndim == 1 else ~np.isnan(targets[:, 0])


def chosen_columns(
    frame: "pandas.DataFrame", task: str | None, target: str, features: Sequence[str] | None
) -> tuple["pandas.DataFrame", list[str]]:
    """The frame with names as text, and the names of its features; a sentence if they do not fit."""
    if task == target:
        raise BmamlError(f"The column {target!r} cannot be both the task and the target: choose two.")
    others = [target] if task is None else [task, target]
    frame = require_columns(frame, [*others, *(features or [])], all_names=features is None)
    if features is None:
        return frame, sorted(name for name in frame.columns if name not in others)
    times = Counter(features)
    wrong = [name for name in features if name in others or times[name] > 1]
    if wrong or len(features) == 0:
        raise BmamlError(
            f"The feature {wrong[0]!r} comes twice or is the task or the target: leave it out."
            if wrong
            else "There are no features to predict from: name some, or none to take all columns."
        )
    return frame, list(features)


def _told_lookalike(series: "pandas.Series") -> list[str]:
    """That a column of text seems to mean something else."""
    found = looks_like(texts_of(series).values)
    if found is None:
        return []
    name = str(series.name)
    return [f"The column {name!r} holds {found}: write {found.instead} to have it taken for one."]


def _of_kind(classes: dict[str, Any], values: Any) -> Any:
    kind = values.get("kind") if isinstance(values, dict) else None
    if not isinstance(kind, str) or kind not in classes:
        raise damaged(f"a column is of kind {shortened(repr(kind))}")
    return classes[kind].from_json(values)
