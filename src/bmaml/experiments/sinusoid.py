"""The paper's sinusoid regression (Section 5, Figures 1 and 8 of Kim et al. 2018).

Every method is treated alike: its inner step size is chosen from one grid on validation tasks, its
checkpoint on the same validation tasks, and its scores come from test tasks that neither choice saw.
Results are written as they come, so that an interrupted run loses at most one training.
"""

import json
import subprocess
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import jax

from bmaml.errors import BmamlError
from bmaml.experiments import sinusoid_figures
from bmaml.recipe import Recipe
from bmaml.run_folder import reporting_write_errors, write_atomically
from bmaml.train import fit
from bmaml.trained import Compiled

# What the inner step size is chosen from, the same for every method. It is in units of squared error:
# of the mean squared error for gradient descent, of half the sum for SVGD (see docs/deviations.md).
STEP_SIZES = (0.003, 0.01, 0.03, 0.1, 0.3)


@dataclass(frozen=True)
class Scale:
    """How much to run."""

    name: str
    steps: int
    seeds: tuple[int, ...]
    shots: tuple[int, ...]
    num_tasks: tuple[int, ...]
    methods: tuple[tuple[str, int], ...]  # name and number of particles
    step_sizes: tuple[float, ...] = STEP_SIZES
    tuning_steps: int = 2_000
    validations: int = 20


PAPER_METHODS = (("maml", 1), ("emaml", 10), ("bfa", 10), ("bmaml", 10))
SCALES = {
    # `make run`: one setting, and the step sizes that tuning at larger scales chose.
    "quick": Scale(
        name="quick",
        steps=3_000,
        seeds=(0,),
        shots=(5,),
        num_tasks=(100,),
        methods=(("maml", 1), ("emaml", 10), ("bmaml", 10)),
        step_sizes=(),
        validations=10,
    ),
    "medium": Scale(
        name="medium",
        steps=10_000,
        seeds=(0, 1, 2),
        shots=(5, 10),
        num_tasks=(100, 1000),
        methods=PAPER_METHODS,
    ),
    "paper": Scale(
        name="paper",
        steps=100_000,
        seeds=(0, 1, 2),
        shots=(5, 10),
        num_tasks=(100, 1000),
        methods=(*PAPER_METHODS, ("emaml", 5), ("bmaml", 5), ("emaml", 20), ("bmaml", 20)),
        tuning_steps=5_000,
        validations=50,
    ),
}


@dataclass(frozen=True)
class Part:
    """One method in one setting."""

    method: str
    num_particles: int
    shots: int
    num_tasks: int

    @property
    def setting(self) -> str:
        """A name for the setting, such as K5-T100."""
        return f"K{self.shots}-T{self.num_tasks}"

    def __str__(self) -> str:
        return f"{self.setting}-{self.method}-M{self.num_particles}"

    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""
        options: dict[str, Any] = {} if step_size is None else {"step_size": step_size}
        if self.method != "maml":
            options["num_particles"] = self.num_particles
        tasks = {"shots": self.shots, "num_tasks": self.num_tasks}
        return Recipe("sinusoid", self.method, options, tasks)


def parts(scale: Scale) -> list[Part]:
    """All of a scale's parts, setting by setting."""
    return [
        Part(method, size, shots, num_tasks)
        for shots, num_tasks in product(scale.shots, scale.num_tasks)
        for method, size in scale.methods
    ]


def reproduce(scale: Scale, out: Path, *, only: str | None = None, progress: bool = True) -> None:
    """Run what is missing in `out`, then draw the figures and print the table."""
    chosen = [part for part in parts(scale) if only is None or str(part).startswith(only)]
    if not chosen:
        names = ", ".join(str(part) for part in parts(scale))
        raise BmamlError(f"No part of the experiment begins with {only!r}; there are: {names}.")
    with reporting_write_errors(out):
        (out / "parts").mkdir(parents=True, exist_ok=True)
    for part in chosen:
        step_size = tune(part, scale, out, progress)
        for seed in scale.seeds:
            run(part, scale, seed, step_size, out, progress)
    results = load_results(out, scale)
    with reporting_write_errors(out):
        sinusoid_figures.write_csv(results, out / "results.csv")
        sinusoid_figures.write_markdown(results, out / "results.md")
        sinusoid_figures.draw_curves(results, out / "curves")
        sinusoid_figures.draw_fits(out, scale, out / "fits")
    sinusoid_figures.print_table(results)
    print(f"Written to {out}: results.csv, results.md, curves and fits as .png and .svg")


def tune(part: Part, scale: Scale, out: Path, progress: bool) -> float | None:
    """The step size with the lowest validation MSE after a short training (seed 0)."""
    if not scale.step_sizes:
        return None
    path = out / "parts" / f"{part}-tuning.json"
    if path.exists():
        return json.loads(path.read_text())["chosen"]
    scores = {}
    for step_size in scale.step_sizes:
        recipe = part.recipe(step_size)
        if progress:
            print(f"{part}: trying step size {step_size}")
        trained = fit(
            recipe.learner(),
            recipe.task_source(),
            steps=scale.tuning_steps,
            seed=0,
            validate_every=scale.tuning_steps,
            progress=progress,
        )
        scores[step_size] = trained.history[-1]["validation"]["mse"]
    chosen = min(scores, key=lambda size: scores[size])
    record = {
        "part": asdict(part),
        "chosen": chosen,
        "validation_mse": scores,
        "steps": scale.tuning_steps,
        "seed": 0,
        "commit": commit(),
    }
    with reporting_write_errors(out):
        write_atomically(path, json.dumps(record, indent=2) + "\n")
    return chosen


def run(
    part: Part, scale: Scale, seed: int, step_size: float | None, out: Path, progress: bool
) -> None:
    """Train one seed, resuming if it was interrupted, and score it on test tasks."""
    name = f"{part}-seed{seed}"
    path = out / "parts" / f"{name}.json"
    if path.exists():
        return
    recipe = part.recipe(step_size)
    learner, source = recipe.learner(), recipe.task_source()
    test = source.held_out("test")
    compiled = Compiled(learner)
    curve = out / "parts" / f"{name}-curve.jsonl"

    def score_on_test(step: int, particles: Any) -> None:
        scores = compiled.score(jax.tree.map(lambda leaf: leaf[0], particles), test)
        point = {"step": step, **{key: float(value) for key, value in scores.items()}}
        with reporting_write_errors(out), open(curve, "a") as file:
            file.write(json.dumps(point) + "\n")

    if progress:
        print(f"{name}: {scale.steps} meta-updates")
    trained = fit(
        learner,
        source,
        steps=scale.steps,
        seed=seed,
        validate_every=max(1, scale.steps // scale.validations),
        out=out / "runs" / name,
        resume=True,
        progress=progress,
        description=recipe.to_json(),
        on_validation=score_on_test,
    )
    record = {
        "part": asdict(part),
        "seed": seed,
        "steps": scale.steps,
        "step_size": step_size,
        "recipe": recipe.to_json(),
        "chosen_checkpoint": trained.step,
        "test": trained.evaluate(test),
        "test_10_steps": trained.evaluate(test, steps=10),
        "curve": read_curve(curve),
        "commit": commit(),
    }
    with reporting_write_errors(out):
        write_atomically(path, json.dumps(record, indent=2) + "\n")


def read_curve(path: Path) -> list[dict[str, Any]]:
    """The test scores along a training; a step that was run again after a kill counts once."""
    points = {}
    for line in path.read_text().splitlines():
        try:
            point = json.loads(line)
        except ValueError:  # cut short by a kill
            continue
        points[point["step"]] = point
    return [points[step] for step in sorted(points)]


def load_results(out: Path, scale: Scale) -> list[dict[str, Any]]:
    """All finished trainings in `out` that belong to `scale`."""
    found = []
    for part in parts(scale):
        for seed in scale.seeds:
            path = out / "parts" / f"{part}-seed{seed}.json"
            if path.exists():
                found.append(json.loads(path.read_text()))
    return found


def commit() -> str:
    """The commit of the source tree this runs from, if it is one."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
        return answer.stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
