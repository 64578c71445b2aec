"""The paper's sinusoid regression (Section 5, Figures 1 and 8 of Kim et al. 2018).

How methods are tuned and scored, alike for all, is in `study`.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import jax
from jaxtyping import PyTree

from bmaml.errors import BmamlError
from bmaml.experiments import figures, grid, result_files, sinusoid_figures, study
from bmaml.learner import Learner
from bmaml.recipe import Recipe
from bmaml.tasks import TaskSource
from bmaml.trained import Compiled, Trained
from bmaml.writing import reporting_write_errors

# What the inner step size is chosen from, the same for every method. It is in units of squared error:
# of the mean squared error for gradient descent, of half the sum for SVGD (see docs/deviations.md).
STEP_SIZES = (0.003, 0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True, kw_only=True)
class Scale(grid.Scale):
    """How much to run, over which settings."""

    shots: tuple[int, ...]
    num_tasks: tuple[int, ...]
    step_sizes: tuple[float, ...] = STEP_SIZES
    tuning_steps: int = 2_000


PAPER_METHODS = (("maml", 1), ("emaml", 10), ("bfa", 10), ("bmaml", 10))
SCALES = {
    # `make run`: one setting, and the step sizes that tuning at larger scales chose.
    "quick": Scale(
        steps=3_000,
        seeds=(0,),
        shots=(5,),
        num_tasks=(100,),
        methods=(("maml", 1), ("emaml", 10), ("bmaml", 10)),
        step_sizes=(),
        validations=10,
    ),
    "medium": Scale(
        steps=10_000,
        seeds=(0, 1, 2),
        shots=(5, 10),
        num_tasks=(100, 1000),
        methods=(*PAPER_METHODS, ("bmaml-initial", 10)),
    ),
    "paper": Scale(
        steps=100_000,
        seeds=(0, 1, 2),
        shots=(5, 10),
        num_tasks=(100, 1000),
        methods=(
            *(*PAPER_METHODS, ("bmaml-flat", 10)),
            *(("emaml", 5), ("bmaml", 5), ("emaml", 20), ("bmaml", 20)),
        ),
        # 2,000 updates cannot tell BMAML's 0.01 from 0.03 at K = 10, |T| = 1000; later they differ.
        tuning_steps=5_000,
        validations=50,
    ),
}


@dataclass(frozen=True)
class Part(grid.Part):
    """One method at one number of shots and of training tasks."""

    shots: int
    num_tasks: int

    def __str__(self) -> str:
        return f"K{self.shots}-T{self.num_tasks}-{self.method}-M{self.num_particles}"

    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""
        tasks = {"shots": self.shots, "num_tasks": self.num_tasks}
        return Recipe("sinusoid", self.preset, self.method_options(step_size), tasks)


def parts(scale: Scale) -> list[Part]:
    """All of a scale's parts, setting by setting."""
    return [
        Part(method, size, shots, num_tasks)
        for shots, num_tasks in product(scale.shots, scale.num_tasks)
        for method, size in scale.methods
    ]


def reproduce(scale: Scale, out: Path, *, only: str | None = None, progress: bool = True) -> None:
    """Run what is missing in `out`, then draw the figures and print the table."""
    chosen = result_files.choose(parts(scale), scale.seeds, only)
    study.run_all(chosen, scale, out, score, follow=follow_on_test, progress=progress)
    results = result_files.load_results(parts(scale), scale.seeds, out, steps=scale.steps)
    for result in results:
        name = result_files.training_name(Part(**result["part"]), result["seed"])
        result["curve"] = read_curve(out / "parts" / f"{name}-curve.jsonl")
    with reporting_write_errors(out):
        sinusoid_figures.write_csv(results, out / "results.csv")
        sinusoid_figures.write_curves(results, out / "curves.csv")
        sinusoid_figures.write_markdown(results, out / "results.md")
        sinusoid_figures.draw_curves(results, out / "curves")
        sinusoid_figures.draw_fits(fitted(scale, out), out / "fits")
    sinusoid_figures.print_table(results)
    print(f"Written to {out}: results.csv, curves.csv, results.md, curves and fits as .png and .svg")


def score(trained: Trained, source: TaskSource) -> dict[str, Any]:
    """Test scores after the trained number of steps, and after ten."""
    test = source.held_out("test")
    return {"test": trained.evaluate(test), "test_10_steps": trained.evaluate(test, steps=10)}


def follow_on_test(
    training: study.Training, learner: Learner, source: TaskSource
) -> Callable[[int, PyTree], None]:
    """Writes the test scores along a training; they are for the figure, and choose nothing.

    Scored are the particles that training goes on with, as sure as training tasks made them.
    """
    test, compiled = source.held_out("test"), Compiled(learner)
    curve = training.out / "parts" / f"{training}-curve.jsonl"

    def score_on_test(step: int, particles: PyTree) -> None:
        scores = compiled.score(jax.tree.map(lambda leaf: leaf[0], particles), test)
        point = {"step": step, **{key: float(value) for key, value in scores.items()}}
        with reporting_write_errors(training.out), open(curve, "a") as file:
            # A line of its own, also after one that a full disk or a kill cut short.
            file.write(("\n" if file.tell() else "") + json.dumps(point))

    return score_on_test


def read_curve(path: Path) -> list[dict[str, Any]]:
    """The test scores along a training; a step that was run again after a kill counts once."""
    points = {}
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError as error:
        whole = path.with_name(path.name.replace("-curve.jsonl", ".json"))
        raise BmamlError(
            f"{path} cannot be read: remove {whole} as well to run that training again."
        ) from error
    for line in lines:
        try:
            point = json.loads(line)
        except ValueError:  # cut short by a kill
            continue
        points[point["step"]] = point
    return [points[step] for step in sorted(points)]


def fitted(scale: Scale, out: Path) -> tuple[int, dict[str, Path]]:
    """The shots and the run folders of the methods to draw side by side; of each the most particles.

    Of an unfinished experiment, the setting with the most methods to compare.
    """
    by_shots: dict[int, dict[str, tuple[str, Path]]] = {shots: {} for shots in scale.shots}
    methods = sorted(scale.methods, key=lambda method: method[1])
    for shots, (method, size) in product(scale.shots, methods):
        part, seed = Part(method, size, shots, scale.num_tasks[0]), scale.seeds[0]
        if method != "bfa" and result_files.result_path(out, part, seed).exists():
            name = figures.label(method, size)
            by_shots[shots][method] = (name, result_files.run_path(out, part, seed))
    shots, found = max(by_shots.items(), key=lambda item: (len(item[1]), item[0]))
    return shots, dict(found.values())
