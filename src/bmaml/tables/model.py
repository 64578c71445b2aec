"""A trained learner and how rows of a table become its inputs: all that predicting takes."""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bmaml.errors import BmamlError, OutsideTrainingWarning
from bmaml.many import Groups, predict_many
from bmaml.recipe import Recipe
from bmaml.run_folder import read_description
from bmaml.tables.dealt import DealtTasks
from bmaml.tables.encoding import Encoding
from bmaml.tables.matching import match_names, require_common, some_of
from bmaml.tables.names import require_columns
from bmaml.tables.predictions import (
    QUANTILES,
    ClassPredictions,
    KeepNumbers,
    NumberPredictions,
    keep_labels,
)
from bmaml.tables.prepare import Prepared, TaskRows, group_rows
from bmaml.tables.read import read_table
from bmaml.tables.targets import NumberTarget
from bmaml.tasks.table import TableTasks
from bmaml.train import fit
from bmaml.trained import Trained

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class TableModel:
    """What training on a table leaves; `load` finds it in a run folder.

    Arguments:
        trained: the meta-trained learner, on encoded rows.
        encoding: how rows are encoded, learned on training tasks.
        recipe: how it was trained.
    """

    trained: Trained
    encoding: Encoding
    recipe: Recipe

    @classmethod
    def fit(
        cls,
        prepared: Prepared,
        *,
        method: str = "bmaml",
        method_options: Mapping[str, Any] | None = None,
        hidden: int | Sequence[int] = (40, 40, 40),
        shots: int | None = None,
        steps: int = 3_000,
        seed: int = 0,
        batch_size: int = 10,
        source: Mapping[str, Any] | None = None,
        **options: Any,
    ) -> "TableModel":
        """Meta-train on the training tasks of a table.

        Arguments:
            prepared: what `prepare` made of it.
            method: one of `bmaml.METHODS`.
            method_options: those of the method's preset.
            hidden: the widths of the network's hidden layers, or the width of one.
            shots: the most support rows of a training episode; None is half of a typical task.
            steps: meta-updates.
            seed: of initial particles and batches.
            batch_size: tasks a meta-update, or all there are if that is fewer.
            source: the path of the table and the options of `prepare`, to find test tasks again.
            options: the other options of `bmaml.fit`, such as `out` and `progress`.
        """
        tasks = TableTasks(prepared, shots)
        encoding = prepared.encoding
        known = {"path": None, "task": encoding.task, "target": encoding.target}
        recipe = Recipe(
            tasks="table",
            method=method,
            method_options=dict(method_options or {}),
            task_options={
                **known,
                **(source or {}),
                "shots": tasks.most_support,
                "encoding": encoding.to_json(),
                **_dealt(prepared, options),
            },
            model_options={"hidden": [int(width) for width in np.atleast_1d(hidden)]},
        )
        trained = fit(
            recipe.learner(),
            tasks,
            steps=steps,
            seed=seed,
            batch_size=min(batch_size, len(prepared.parts["train"].counts)),
            description=recipe.to_json(),
            **options,
        )
        return cls(trained, encoding, recipe)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "TableModel":
        """The model in a run folder that was trained on a table."""
        recipe = Recipe.from_json(read_description(folder))
        if recipe.tasks != "table":
            raise BmamlError(f"{folder} was trained on {recipe.tasks}, not on a table.")
        encoding = Encoding.from_json(recipe.task_options.get("encoding", {}))
        return cls(Trained.load(folder, recipe.learner()), encoding, recipe)

    def read(self, path: str | os.PathLike[str], *, support: bool = False) -> "pandas.DataFrame":
        """A file of rows like those of training; one of support rows may have none."""
        encoding = self.encoding
        return read_table(
            path,
            text=encoding.text_columns,
            literal=encoding.literal_columns,
            allow_empty=support,
        )

    @property
    def kind(self) -> str:
        """What it predicts: "numbers" or "labels"."""
        return self.encoding.kind

    def predict(
        self,
        query: "pandas.DataFrame",
        support: "pandas.DataFrame | None" = None,
        *,
        steps: int | None = None,
        quantiles: Sequence[float] = QUANTILES,
        warn: bool = True,
    ) -> NumberPredictions | ClassPredictions:
        """Predict each row of `query` from the rows of `support` that belong to the same task.

        With the column of tasks in both frames, rows belong together by its values, and a task
        without support rows gets the prior prediction, with a warning; without it in the query, all
        rows are of one task. All tasks are adapted to and predicted in large batches.

        Arguments:
            query: the features of the rows to predict.
            support: features and targets of what is known; None is nothing.
            steps: inner updates; None is the trained number.
            quantiles: the levels to give for numbers.
            warn: with an `OutsideTrainingWarning` where rows lie far outside what training covered, and
                of tasks that only one of the two frames has.

        Returns:
            One prediction a row, in the order of `query`, in the units of the table.
        """
        keep = KeepNumbers(tuple(quantiles))
        target = self.encoding.targets
        if isinstance(target, NumberTarget):
            return keep.in_units(
                self.predict_kept(query, support, keep, steps=steps, warn=warn), target
            )
        kept = self.predict_kept(query, support, keep_labels, steps=steps, warn=warn)
        return ClassPredictions(target.classes, **kept)

    def predict_kept(
        self,
        query: "pandas.DataFrame",
        support: "pandas.DataFrame | None",
        of_prediction: Callable[[Any], dict[str, Any]],
        *,
        steps: int | None = None,
        warn: bool = True,
        what: str = "query",
    ) -> dict[str, np.ndarray]:
        """What `of_prediction` keeps of each row's prediction, and how many rows it was adapted to.

        See `predict`, and `many.predict_many`; `what` the query is called in sentences.
        """
        with _about("support"):
            known = self._known(support, warn)
        with _about(what):
            if warn:
                self._warn(query, what)
            asked, order = group_rows(query, self.encoding, with_targets=False)
        if warn and asked.names == ("",):
            self._warn_of_one_task(query, what)
        groups = Groups(asked.x, asked.starts, asked.counts)
        matched = self._match(known, asked, what, warn)
        kept = predict_many(self.trained, matched, groups, of_prediction, steps=steps)
        kept["support_rows"] = np.repeat(matched.counts, asked.counts)
        return _in_order(kept, order)

    def _known(self, support: "pandas.DataFrame | None", warn: bool) -> TaskRows | None:
        """The support by task; None if it has no rows."""
        if support is None:
            return None
        if len(support) == 0:
            if len(support.columns) > 0:  # Names without rows say at least whose they are.
                features = [column.name for column in self.encoding.features]
                require_columns(support, [*features, self.encoding.target])
            return None
        if warn:
            self._warn(support, "support", with_targets=True)
        return group_rows(support, self.encoding, with_targets=True)[0]

    def _match(self, known: TaskRows | None, asked: TaskRows, what: str, warn: bool) -> Groups:
        """The support of each task that is asked about."""
        count = len(asked.counts)
        if known is None:
            empty = np.zeros(count, np.int32)
            example = self.trained.example
            x = np.zeros((0, *example.x.shape[1:]), example.x.dtype)
            return Groups(x, empty, empty, np.zeros((0, *example.y.shape[1:]), example.y.dtype))
        unnamed = asked.names == ("",) or known.names == ("",)
        if unnamed and (count > 1 or len(known.counts) > 1):
            raise BmamlError(
                f"The support has rows of {len(known.counts)} task(s) and the {what} of {count}, but "
                f"not both say which: add the column {self.encoding.task!r} to both."
            )
        if unnamed:
            return Groups(known.x, known.starts, known.counts, known.y)
        found = match_names(known.names, asked.names)
        task = self.encoding.task
        require_common(known.names, asked.names, found, task=task, what=what, warn=warn)
        starts = np.where(found < 0, 0, known.starts[found])
        return Groups(known.x, starts, np.where(found < 0, 0, known.counts[found]), known.y)

    def _warn_of_one_task(self, query: "pandas.DataFrame", what: str) -> None:
        """If there are columns that nothing is known of: one of them may be that of tasks, misspelt."""
        known = {column.name for column in self.encoding.features} | {self.encoding.target}
        unused = [str(name) for name in query.columns if name not in known]
        if self.encoding.task is not None and unused:
            warnings.warn(
                f"The {what} has no column {self.encoding.task!r}, so all its rows are taken for one "
                f"task; not used: {some_of(unused)}.",
                stacklevel=4,
            )

    def _warn(self, frame: "pandas.DataFrame", what: str, *, with_targets: bool = False) -> None:
        for sentence in self.encoding.outside(frame, with_targets=with_targets):
            warnings.warn(f"The {what}: {sentence}", OutsideTrainingWarning, stacklevel=4)


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Errors say which of the two tables they are about."""
    try:
        yield
    except BmamlError as error:
        told = str(error)
        if told.startswith("The table "):
            raise BmamlError(f"The {what} {told.removeprefix('The table ')}") from error
        raise BmamlError(f"The {what}: {told}") from error


def _dealt(prepared: Prepared, options: Mapping[str, Any]) -> dict[str, Any]:
    """The record of tasks, if it is not a run from before there was one that is resumed."""
    dealt, out = DealtTasks.of(prepared.parts).to_json(), options.get("out")
    if options.get("resume") and out is not None and Path(out, "run.json").exists():
        before = read_description(out).get("task_options", {}).get("dealt")
        if before is None:
            return {}
        if before != dealt:
            raise BmamlError(
                f"The table has other tasks than when {out} began: resume with the table as it was, or "
                "choose another folder."
            )
    return {"dealt": dealt}


def _in_order(kept: dict[str, np.ndarray], order: np.ndarray) -> dict[str, np.ndarray]:
    """From rows sorted by task to the order of the frame."""
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return {name: values[back] for name, values in kept.items()}
