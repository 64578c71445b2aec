"""`bmaml compare`: several runs on the same test tasks."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

if TYPE_CHECKING:
    from bmaml.recipe import Recipe
    from bmaml.report.evaluation import Evaluation


@dataclass(frozen=True)
class Compare:
    """Score several runs on the same test tasks, and tell their differences task by task.

    A task that is hard is hard for every run. The interval of a difference is therefore narrower than
    those of the scores, and says what they cannot: whether it may be chance.
    """

    folders: tyro.conf.Positional[tuple[Path, ...]]
    """run folders written by `bmaml train`; differences are to the first"""
    steps: int | None = None
    """adaptation steps (default: as each was trained)"""
    checkpoint: Literal["best", "last"] = "best"
    """best by validation, or the last"""
    data: Path | None = None
    """where the data are now (default: where they were in training)"""
    test_tasks: int | None = None
    """how many test tasks to draw (default: 500 sinusoids, 600 of images); a
    table has those it has"""
    support_rows: tuple[int, ...] | None = None
    """for tables: numbers of rows to adapt to (default: 0, 1, 2, 5, 10, … as far as trained for)"""
    json: bool = False
    """print one JSON object"""

    def run(self) -> None:
        """Load, score, print."""
        from bmaml.cli.output import speaking_warnings
        from bmaml.errors import BmamlError
        from bmaml.recipe import Recipe
        from bmaml.report.comparison import together
        from bmaml.run_folder import read_description

        if len(self.folders) < 2:
            raise BmamlError("There is nothing to compare with: name two run folders or more.")
        if self.steps is not None and self.steps < 0:
            raise BmamlError("--steps must not be negative.")
        recipes = {
            name: Recipe.from_json(read_description(folder))
            for name, folder in zip(self._names(), self.folders, strict=True)
        }
        self._check(recipes)
        if self.data is not None:
            moved = str(self.data.absolute())
            recipes = {name: recipe.with_data(moved) for name, recipe in recipes.items()}
        try:
            with speaking_warnings():
                compared = together(self._evaluate(recipes))
        except ValueError as error:
            raise BmamlError(str(error)) from error
        if self.json:
            print(json.dumps(compared.to_json(), allow_nan=False))
            return
        from rich.console import Console

        evaluation = compared.evaluation
        # A file has no edge that a line could run into.
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(evaluation.table(f"{evaluation.available} test tasks"))
        console.print(compared.table())
        for sentence in evaluation.sentences():
            console.print(sentence, markup=False, highlight=False)

    def _names(self) -> list[str]:
        """The folders' own names, or their paths where those are not enough."""
        own = [folder.absolute().name for folder in self.folders]
        names = own if len(set(own)) == len(own) else [str(folder) for folder in self.folders]
        if len(set(names)) < len(names):
            from bmaml.errors import BmamlError

            raise BmamlError("A run folder was named twice: compare different runs.")
        return names

    def _check(self, recipes: "dict[str, Recipe]") -> None:
        from bmaml.cli.evaluate import require_drawn
        from bmaml.errors import BmamlError

        kinds = {name: recipe.tasks for name, recipe in recipes.items()}
        if len(set(kinds.values())) > 1:
            told = ", ".join(f"{name} on {kind}" for name, kind in kinds.items())
            raise BmamlError(f"The runs are not on the same kind of tasks: {told}.")
        if self.support_rows is not None and "table" not in kinds.values():
            raise BmamlError(
                f"--support-rows is for runs on tables, and these are on {next(iter(kinds.values()))}."
            )
        require_drawn(self.test_tasks, *kinds.values())

    def _evaluate(self, recipes: "dict[str, Recipe]") -> "dict[str, Evaluation]":
        """Each on its own test tasks, which must be those of the first."""
        import numpy as np

        from bmaml.errors import BmamlError
        from bmaml.report.comparison import fingerprint

        evaluations, first = {}, None
        for folder, (name, recipe) in zip(self.folders, recipes.items(), strict=True):
            source = recipe.test_source(self.test_tasks)
            tasks = fingerprint(source.held_out("test"))
            first = tasks if first is None else first
            if not np.array_equal(first, tasks):
                raise BmamlError(
                    f"{name} has other test tasks than {next(iter(recipes))}: compare runs that were "
                    "trained with the same options of their tasks, such as --shots and --ways, on the "
                    "same data."
                )
            evaluations[name] = self._score(folder, recipe, source)
        return evaluations

    def _score(self, folder: Path, recipe: "Recipe", source) -> "Evaluation":
        from bmaml.report.held_out import evaluate_held_out
        from bmaml.tables.encoding import Encoding
        from bmaml.tables.evaluation import evaluate_table
        from bmaml.tables.model import TableModel
        from bmaml.trained import Trained

        trained = Trained.load(folder, recipe.learner(), which=self.checkpoint)
        if recipe.tasks != "table":
            tasks = source.held_out("test")
            return evaluate_held_out(trained, tasks, method=recipe.method, steps=self.steps)[0]
        encoding = Encoding.from_json(recipe.task_options["encoding"])
        return evaluate_table(
            TableModel(trained, encoding, recipe),
            source,
            support_rows=self.support_rows,
            baselines=(),
            steps=self.steps,
        )
