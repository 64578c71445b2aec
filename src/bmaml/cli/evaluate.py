"""`bmaml evaluate`: score a trained run on test tasks."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro


@dataclass(frozen=True)
class Evaluate:
    """Score a run on its test tasks, which neither training nor checkpoint selection has seen."""

    folder: tyro.conf.Positional[Path]
    """a run folder written by `bmaml train`"""
    steps: int | None = None
    """adaptation steps (default: as trained)"""
    checkpoint: Literal["best", "last"] = "best"
    """best by validation, or the last"""
    json: bool = False
    """print one JSON object"""

    def run(self) -> None:
        """Load, score, print."""
        from bmaml.errors import BmamlError
        from bmaml.recipe import Recipe
        from bmaml.run_folder import read_description
        from bmaml.tasks.task_set import as_task_set
        from bmaml.trained import Trained

        if self.steps is not None and self.steps < 0:
            raise BmamlError("--steps must not be negative.")
        recipe = Recipe.from_json(read_description(self.folder))
        trained = Trained.load(self.folder, recipe.learner(), which=self.checkpoint)
        tasks = recipe.task_source().held_out("test")
        scores = trained.evaluate(tasks, steps=self.steps)
        count = len(as_task_set(tasks))
        if self.json:
            print(json.dumps({**scores, "tasks": count, "method": recipe.method}))
            return
        from rich.console import Console
        from rich.table import Table

        table = Table(title=f"{recipe.method} on {count} test tasks of {recipe.tasks}")
        table.add_column("score")
        table.add_column("value", justify="right")
        for name, value in scores.items():
            table.add_row(name, f"{value:.4f}")
        Console().print(table)
