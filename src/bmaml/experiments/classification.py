"""The paper's few-shot image classification (Section 5, Figure 3 of Kim et al. 2018).

Figure a: accuracy with M ∈ {1, 5, 10} particles and training tasks in abundance. Figure b: with few
training tasks, where the paper finds that point estimates overfit and BMAML does not. How methods are
tuned and scored, alike for all, is in `study`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from bmaml.errors import BmamlError
from bmaml.experiments import classification_figures, figures, grid, result_files, study
from bmaml.novelty import novelty_auroc
from bmaml.recipe import Recipe
from bmaml.scale import device_for_each_core
from bmaml.tasks import TASK_SOURCES, TaskSource
from bmaml.trained import Trained
from bmaml.writing import reporting_write_errors

# What the inner step size is chosen from, the same for every method: of the mean cross-entropy for
# gradient descent, of its sum over rows for SVGD.
STEP_SIZES = (0.01, 0.03, 0.1, 0.3, 1.0)
# Adapting for longer than trained costs no training: besides the trained number of steps, these are
# tried on validation tasks, the same for every method.
ADAPTATION_STEPS = (50, 200)


@dataclass(frozen=True, kw_only=True)
class Scale(grid.Scale):
    """How much to run, on which images."""

    tasks: str
    num_tasks: tuple[int | None, ...]  # None draws fresh tasks without end
    task_options: tuple[tuple[str, Any], ...] = ()
    model_options: tuple[tuple[str, Any], ...] = ()
    batch_size: int = 16


# Needs no download, and takes minutes.
QUICK = Scale(
    tasks="glyphs",
    steps=300,
    batch_size=8,
    seeds=(0,),
    num_tasks=(None, 100),
    methods=(("maml", 1), ("emaml", 5), ("bmaml", 5), ("emaml", 10), ("bmaml", 10)),
    validations=6,
    task_options=(("validation_tasks", 50), ("test_tasks", 200), ("held_out_query", 8)),
)
SCALES = {
    "quick": QUICK,
    # Every preset on the same images, and the chaser with the paper's n = s = 1.
    "presets": replace(
        QUICK,
        num_tasks=(None,),
        methods=(
            *(("maml", 1), ("fomaml", 1), ("reptile", 1), ("emaml", 5), ("bfa", 5), ("bmaml", 5)),
            *(("bmaml-prediction", 5), ("bmaml-one-step", 5)),
        ),
    ),
    # A few minutes on two cores for each training.
    "omniglot": Scale(
        tasks="omniglot",
        steps=1_500,
        seeds=(0, 1, 2),
        num_tasks=(None, 1_000),
        methods=(("maml", 1), ("emaml", 5), ("bmaml", 5), ("emaml", 10), ("bmaml", 10)),
        step_sizes=STEP_SIZES,
        tuning_steps=300,
        validations=10,
        task_options=(("rotations", True), ("validation_tasks", 100)),
    ),
    # What a few hours on two cores allow: photographs at half their resolution, which is a quarter of
    # the work and ends in as many features, one seed, and the default step sizes.
    "miniimagenet": Scale(
        tasks="miniimagenet",
        steps=5_000,
        seeds=(0,),
        num_tasks=(None,),
        methods=(("maml", 1), ("emaml", 5), ("bmaml", 5), ("bmaml-prediction", 5)),
        validations=10,
        task_options=(("size", 42), ("validation_tasks", 100)),
        model_options=(("blocks", 4), ("norm", "task")),
    ),
    # The paper's: 800,000 tasks once, or 10,000 tasks forty times, 16 to a meta-update. Steps and Adam
    # are the project's (see docs/deviations.md).
    "paper": Scale(
        tasks="miniimagenet",
        steps=50_000,
        seeds=(0, 1, 2),
        num_tasks=(800_000, 10_000),
        methods=(
            *(("maml", 1), ("emaml", 5), ("bmaml", 5), ("bmaml-prediction", 5)),
            *(("emaml", 10), ("bmaml", 10)),
        ),
        step_sizes=STEP_SIZES,
        tuning_steps=2_000,
        validations=50,
    ),
}


@dataclass(frozen=True)
class Part(grid.Part):
    """One method on one number of training tasks."""

    tasks: str
    num_tasks: int | None
    task_options: tuple[tuple[str, Any], ...] = ()
    model_options: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        count = "endless" if self.num_tasks is None else self.num_tasks
        return f"T{count}-{self.method}-M{self.num_particles}"

    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""
        options = {"num_tasks": self.num_tasks, **dict(self.task_options)}
        return Recipe(
            self.tasks, self.preset, self.method_options(step_size), options, dict(self.model_options)
        )


def parts(scale: Scale, folder: Path | None = None) -> list[Part]:
    """All of a scale's parts; `folder` holds the images, where they do not come with the package."""
    options = scale.task_options
    if "folder" in TASK_SOURCES[scale.tasks].__dataclass_fields__:  # type: ignore[attr-defined]
        if folder is None:
            raise BmamlError(f"This scale needs your copy of {scale.tasks}: give it with --folder.")
        options = (("folder", str(folder.absolute())), *options)
    return [
        Part(method, size, scale.tasks, num_tasks, options, scale.model_options)
        for num_tasks, (method, size) in product(scale.num_tasks, scale.methods)
    ]


def reproduce(
    scale: Scale,
    out: Path,
    *,
    folder: Path | None = None,
    only: str | None = None,
    progress: bool = True,
) -> None:
    """Run what is missing in `out`, then draw the figures and print the table."""
    everything = parts(scale, folder)
    train_all(result_files.choose(everything, scale.seeds, only), scale, out, progress)
    results = result_files.load_results(everything, scale.seeds, out, steps=scale.steps)
    with reporting_write_errors(out):
        classification_figures.write_csv(results, out / "results.csv")
        classification_figures.write_markdown(results, out / "results.md")
        classification_figures.draw_curves(results, out / "curves")
        classification_figures.draw_particles(results, out / "particles")
        classification_figures.draw_episodes(trained_runs(everything, scale, out), out / "episodes")
    classification_figures.print_table(results)
    print(f"Written to {out}: results.csv, results.md; curves, particles and episodes as .png and .svg")


def train_all(trainings: Sequence[tuple[Part, int]], scale: Scale, out: Path, progress: bool) -> None:
    """Tune and train these parts and seeds, on all cores, unless their results are there already."""
    devices = device_for_each_core(scale.batch_size)
    study.run_all(trainings, scale, out, score, progress=progress, devices=devices)


def score(trained: Trained, source: TaskSource) -> dict[str, Any]:
    """Test scores after the trained steps and after those that validation tasks choose.

    And how well queries of unknown classes are told apart.
    """
    test = source.held_out("test")
    unknown = novelty_auroc(trained, source.held_out_with_unknown("test"))  # type: ignore[attr-defined]
    tried, chosen = choose_steps(trained, source)
    return {
        "test": trained.evaluate(test),
        "novelty_auroc": unknown,
        "adaptation_steps": {"trained": trained.learner.inner.steps, "chosen": chosen},
        "validation_by_adaptation_steps": tried,
        "test_chosen_steps": trained.evaluate(test, steps=chosen),
    }


def choose_steps(trained: Trained, source: TaskSource) -> tuple[dict[int, dict[str, float]], int]:
    """Validation scores by the number of adaptation steps, and the number with the best."""
    name, higher_is_better = trained.learner.posterior.likelihood.selection
    validation = source.held_out("validation")
    tried = {
        steps: trained.evaluate(validation, steps=steps)
        for steps in sorted({trained.learner.inner.steps, *ADAPTATION_STEPS})
    }
    best = max if higher_is_better else min
    return tried, best(tried, key=lambda steps: tried[steps][name])


def trained_runs(
    everything: list[Part], scale: Scale, out: Path
) -> dict[str, tuple[Trained, TaskSource]]:
    """The first seed of every method on the most tasks, by its label.

    Of what is finished, that with most particles.
    """
    finished = [
        part
        for part in sorted(everything, key=lambda part: part.num_particles)
        if part.num_tasks == scale.num_tasks[0]
        and result_files.result_path(out, part, scale.seeds[0]).exists()
    ]
    largest = {part.method: part for part in finished}
    return {
        figures.label(part.method, part.num_particles): (
            Trained.load(result_files.run_path(out, part, scale.seeds[0])),
            part.recipe(None).task_source(),
        )
        for part in largest.values()
    }
