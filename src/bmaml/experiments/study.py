"""What all experiments share: a grid of trainings, each tuned, resumable and kept in a file.

Every method is treated alike: its inner step size is chosen from one grid on validation tasks (see
`tuning`), its checkpoint on the same validation tasks, and its scores come from test tasks that neither
choice saw.
Results are written as they come, so that an interrupted run loses at most what came after the last
checkpoint of one training.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jaxtyping import PyTree

from bmaml.errors import DivergedError, RunError
from bmaml.experiments.grid import Part, Scale
from bmaml.experiments.result_files import (
    commit,
    prepare_folder,
    require_same,
    result_path,
    run_path,
    training_name,
    write_record,
)
from bmaml.experiments.tuning import tune
from bmaml.learner import Learner
from bmaml.recipe import Recipe
from bmaml.tasks import TaskSource
from bmaml.train import fit
from bmaml.trained import Trained

# From a trained learner and its tasks to what is kept of it.
Score = Callable[[Trained, TaskSource], dict[str, Any]]
# From a training, its learner and its tasks to a function of the step and the particles, which is
# called after each validation.
Follow = Callable[["Training", Learner, TaskSource], Callable[[int, PyTree], None]]


@dataclass(frozen=True)
class Training:
    """One seed of one part, with the step size that was chosen for it, and its files in `out`."""

    part: Part
    seed: int
    scale: Scale
    step_size: float | None
    out: Path
    score: Score

    def __str__(self) -> str:
        return training_name(self.part, self.seed)

    @property
    def recipe(self) -> Recipe:
        """How to train it."""
        return self.part.recipe(self.step_size)

    @property
    def folder(self) -> Path:
        """Its run folder."""
        return run_path(self.out, self.part, self.seed)

    def run(
        self, *, follow: Follow | None = None, progress: bool = True, devices: int | None = None
    ) -> None:
        """Train, resuming if it was interrupted, and keep the scores, unless they are there already."""
        path, recipe, scale = result_path(self.out, self.part, self.seed), self.recipe, self.scale
        if path.exists():
            require_same(path, steps=scale.steps, recipe=recipe.to_json())
            return
        learner, source = recipe.learner(), recipe.task_source()
        if progress:
            print(f"{self.part}, seed {self.seed}: {scale.steps} meta-updates")
        trained = fit(
            learner,
            source,
            steps=scale.steps,
            seed=self.seed,
            batch_size=scale.batch_size,
            validate_every=max(1, scale.steps // scale.validations),
            out=self.folder,
            resume=True,
            progress=progress,
            devices=devices,
            description=recipe.to_json(),
            on_validation=None if follow is None else follow(self, learner, source),
        )
        self.keep(trained)

    def keep(self, trained: Trained, *, diverged: int | None = None) -> None:
        """Write down what came of it; `diverged` is the update at which it broke."""
        record = {
            "part": self.part.to_json(),
            "seed": self.seed,
            "steps": self.scale.steps,
            "diverged": diverged,
            "step_size": self.step_size,
            "recipe": self.recipe.to_json(),
            "chosen_checkpoint": trained.step,
            "validation": [
                {"step": entry["step"], "loss": entry["loss"], **entry["validation"]}
                for entry in trained.history
            ],
            **self.score(trained, self.recipe.task_source()),
            "commit": commit(),
        }
        write_record(result_path(self.out, self.part, self.seed), record)

    def keep_what_validated_best(self, error: DivergedError, progress: bool) -> None:
        """Of a training that diverged; if it did so before any validation, there is nothing to keep."""
        try:
            trained = Trained.load(self.folder)
        except RunError:  # After updates, and before the first validation.
            raise error from None
        if trained.step == 0:  # At the first update.
            raise error
        if progress:
            print(f"{self}: {error} What validated best, update {trained.step}, is kept.")
        self.keep(trained, diverged=int(trained.last.step) + 1)


def run_all(
    trainings: Iterable[tuple[Part, int]],
    scale: Scale,
    out: Path,
    score: Score,
    *,
    follow: Follow | None = None,
    progress: bool = True,
    devices: int | None = None,
) -> None:
    """Tune these parts and train their seeds, unless their results are there already.

    Of a training that diverges, the checkpoint that validated best is scored, and the result says so.
    """
    prepare_folder(out)
    for part, seed in trainings:
        step_size = tune(part, scale, out, progress, devices)
        training = Training(part, seed, scale, step_size, out, score)
        try:
            training.run(follow=follow, progress=progress, devices=devices)
        except DivergedError as error:
            training.keep_what_validated_best(error, progress)
