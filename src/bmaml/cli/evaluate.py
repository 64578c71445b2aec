"""`bmaml evaluate`: score a trained run on test tasks, and write its page."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import tyro

if TYPE_CHECKING:
    from bmaml.recipe import Recipe
    from bmaml.report.evaluation import Evaluation
    from bmaml.tasks.source import TaskSource
    from bmaml.tasks.table import TableTasks
    from bmaml.trained import Trained


@dataclass(frozen=True)
class Evaluate:
    """Score a run on its test tasks, which neither training nor checkpoint selection has seen.

    A run on a table is scored against the number of support rows, beside what else one might try. The
    scores of a run on data, with plots, are also written to report.html in the run folder; of a run of
    policies, --render draws what they do.
    """

    folder: tyro.conf.Positional[Path]
    """a run folder written by `bmaml train` or `bmaml rl`"""
    steps: int | None = None
    """adaptation steps (default: as trained)"""
    checkpoint: Literal["best", "last"] = "best"
    """best by validation, or the last"""
    data: Path | None = None
    """where the data are now (default: where they were in training); tasks of a table that training has
    not seen are scored, too"""
    test_tasks: int | None = None
    """how many test tasks to draw (default: 500 sinusoids, 600 of images, 40 of policies); a
    table has those it has"""
    support_rows: tuple[int, ...] | None = None
    """for tables: numbers of rows to adapt to (default: 0, 1, 2, 5, 10, … as far as trained for)"""
    baselines: bool = True
    """for tables: compare with a pooled model and with one model for each task"""
    page: bool = True
    """for data: write report.html"""
    render: Path | None = None
    """for policies: draw a few test tasks before and after adaptation, as .png, .svg, .pdf or .gif"""
    json: bool = False
    """print one JSON object"""

    def run(self) -> None:
        """Load, score, print, write the page."""
        from bmaml.errors import BmamlError
        from bmaml.recipe import Recipe
        from bmaml.run_folder import read_description
        from bmaml.trained import Trained

        if self.steps is not None and self.steps < 0:
            raise BmamlError("--steps must not be negative.")
        description = read_description(self.folder)
        if "reinforcement" in description:
            self._policies()
            return
        recipe = Recipe.from_json(description)
        if self.render is not None:
            raise BmamlError(
                f"--render is for runs of `bmaml rl`, and this one is on {recipe.tasks}: leave it out."
            )
        if self.support_rows is not None and recipe.tasks != "table":
            raise BmamlError(
                f"--support-rows is for runs on tables, and this one is on {recipe.tasks}."
            )
        require_drawn(self.test_tasks, recipe.tasks)
        if self.data is not None:
            recipe = recipe.with_data(str(self.data.absolute()))
        trained = Trained.load(self.folder, recipe.learner(), which=self.checkpoint)
        try:
            score = self._table if recipe.tasks == "table" else self._held_out
            evaluation = score(trained, recipe)
        except ValueError as error:
            raise BmamlError(str(error)) from error
        if self.page:
            self._write_page(trained, recipe, evaluation)

    def _policies(self) -> None:
        """Returns on test tasks, before and after adaptation."""
        from bmaml.cli.output import print_scores
        from bmaml.errors import BmamlError
        from bmaml.rl import TrainedPolicies
        from bmaml.rl.evaluation import TEST_TASKS
        from bmaml.rl.render import render, require_picture_name

        if self.render is not None:
            require_picture_name(self.render)
        for name, given in {"--data": self.data, "--support-rows": self.support_rows}.items():
            if given is not None:
                raise BmamlError(
                    f"{name} is for runs on data, and this one holds policies: leave it out."
                )
        require_drawn(self.test_tasks)
        trained = TrainedPolicies.load(self.folder, which=self.checkpoint)
        settings = trained.settings
        count = TEST_TASKS if self.test_tasks is None else self.test_tasks
        scores = trained.evaluate(count, steps=self.steps)
        if self.json:
            told = {**scores, "tasks": count, "method": settings.method}
            print(json.dumps({**told, "environment": settings.environment}, allow_nan=False))
        else:
            print_scores(scores, f"{settings.method} on {count} test tasks of {settings.environment}")
        if self.render is not None:
            render(trained, self.render, steps=self.steps)
            print(f"Drawn: {self.render}", file=sys.stderr)

    def _table(self, trained: "Trained", recipe: "Recipe") -> "Evaluation":
        """Against support rows, beside baselines."""
        from rich.console import Console

        from bmaml.cli.output import speaking_warnings
        from bmaml.errors import BmamlError
        from bmaml.tables.encoding import Encoding
        from bmaml.tables.evaluation import evaluate_table
        from bmaml.tables.model import TableModel
        from bmaml.tasks.table import TableTasks

        with speaking_warnings():
            options = recipe.task_options
            try:
                source = TableTasks.from_options(options, new_to_test=self.data is not None)
            except TypeError as error:  # options that are none, in a run.json that was changed
                raise BmamlError(str(error)) from error
            baselines = self._baselines(source)
        encoding = Encoding.from_json(recipe.task_options["encoding"])
        evaluation = evaluate_table(
            TableModel(trained, encoding, recipe),
            source,
            support_rows=self.support_rows,
            baselines=baselines,
            steps=self.steps,
        )
        if self.json:
            print(json.dumps(evaluation.to_json(), allow_nan=False))
            return evaluation
        title = f"{encoding.target}: {evaluation.available} test tasks"
        # A file has no edge that a line could run into.
        console = Console(width=None if sys.stdout.isatty() else 120)
        console.print(evaluation.table(title))
        for sentence in evaluation.sentences():
            console.print(sentence, markup=False, highlight=False)
        return evaluation

    def _baselines(self, source: "TableTasks") -> tuple[()] | None:
        """All of them; none if they are not wanted or have no task to learn from."""
        import warnings

        if self.baselines and len(source.prepared.parts["train"].counts) == 0:
            warnings.warn(
                f"{self.data} has none of the training tasks, so there is nothing to compare with: "
                "give a file that has them as well.",
                stacklevel=2,
            )
            return ()
        return None if self.baselines else ()

    def _held_out(self, trained: "Trained", recipe: "Recipe") -> "Evaluation":
        """On the test tasks as they are."""
        from bmaml.cli.output import print_scores, speaking_warnings
        from bmaml.report.held_out import evaluate_held_out

        with speaking_warnings():
            source = recipe.test_source(self.test_tasks)
            tasks = source.held_out("test")
        evaluation, scores = evaluate_held_out(trained, tasks, method=recipe.method, steps=self.steps)
        scores = {**scores, **self._unknown_classes(trained, source)}
        count = evaluation.available
        if self.json:
            print(json.dumps({**scores, "tasks": count, "method": recipe.method}))
            return evaluation
        print_scores(scores, f"{recipe.method} on {count} test tasks of {recipe.tasks}")
        return evaluation

    def _unknown_classes(self, trained: "Trained", source: "TaskSource") -> dict[str, float]:
        """How well images of classes that a task has not are told apart by uncertainty."""
        import warnings

        from bmaml.errors import BmamlError
        from bmaml.novelty import novelty_auroc
        from bmaml.tasks.images.episodes import ImageEpisodes

        if not isinstance(source, ImageEpisodes):
            return {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # they were told when the test tasks were drawn
                tasks = source.held_out_with_unknown("test")
        except BmamlError:  # every task has all test classes
            return {}
        measured = novelty_auroc(trained, tasks, steps=self.steps)
        return {f"unknown_auroc_{name}": area for name, area in measured.items()}

    def _write_page(self, trained: "Trained", recipe: "Recipe", evaluation: "Evaluation") -> None:
        """Into the run folder; where that cannot be written to, the scores have been printed anyway."""
        from bmaml.cli.train.again import command
        from bmaml.errors import RunError
        from bmaml.report.page import write_page
        from bmaml.run_folder import RunFolder

        made_by = command(recipe, RunFolder.read(self.folder).settings, self.folder.absolute())
        try:
            path = write_page(
                self.folder,
                trained,
                recipe,
                evaluation,
                made_by=made_by,
                evaluated_by=self._command(),
            )
        except RunError as error:
            print(f"bmaml: No page: {error}", file=sys.stderr)
        else:
            print(f"Plots: {path}", file=sys.stderr)

    def _command(self) -> str:
        """This command, with what was asked for."""
        import shlex

        words = ["bmaml", "evaluate", str(self.folder)]
        words += [] if self.steps is None else ["--steps", str(self.steps)]
        words += [] if self.checkpoint == "best" else ["--checkpoint", self.checkpoint]
        words += [] if self.data is None else ["--data", str(self.data)]
        words += [] if self.test_tasks is None else ["--test-tasks", str(self.test_tasks)]
        if self.support_rows is not None:
            words += ["--support-rows", *map(str, self.support_rows)]
        words += [] if self.baselines else ["--no-baselines"]
        return shlex.join(words)


def require_drawn(test_tasks: int | None, *kinds: str) -> None:
    """Refuse a number of test tasks that is none, or that tasks of this kind cannot have."""
    from bmaml.errors import BmamlError

    if test_tasks is None:
        return
    if test_tasks < 1:
        raise BmamlError(f"--test-tasks is {test_tasks}; it must be at least 1.")
    if "table" in kinds:
        raise BmamlError("--test-tasks is for tasks that are drawn; a table has the tasks it has.")
