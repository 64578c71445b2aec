"""What all experiments share: a grid of trainings, each tuned, resumable and kept in a file.

Every method is treated alike: its inner step size is chosen from one grid on validation tasks, its
checkpoint on the same validation tasks, and its scores come from test tasks that neither choice saw.
Results are written as they come, so that an interrupted run loses at most what came after the last
checkpoint of one training.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bmaml.errors import DivergedError
from bmaml.experiments.result_files import (
    commit,
    prepare_folder,
    require_same,
    result_path,
    run_path,
    write_record,
)
from bmaml.recipe import Recipe
from bmaml.run_folder import read_description
from bmaml.tasks import TaskSource
from bmaml.train import fit
from bmaml.trained import Trained


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much to train, and how each method's inner step size is chosen."""

    steps: int
    seeds: tuple[int, ...]
    methods: tuple[tuple[str, int], ...]  # name and number of particles
    batch_size: int = 10
    step_sizes: tuple[float, ...] = ()  # the grid, the same for every method; () takes the defaults
    tuning_steps: int = 0
    validations: int = 20


@dataclass(frozen=True)
class Part(ABC):
    """One method in one setting; `str(part)` names it, and its files."""

    method: str
    num_particles: int

    @abstractmethod
    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""

    def method_options(self, step_size: float | None) -> dict[str, Any]:
        """The options of the preset."""
        options: dict[str, Any] = {} if step_size is None else {"step_size": step_size}
        if self.method not in ("maml", "fomaml"):
            options["num_particles"] = self.num_particles
        return options

    def to_json(self) -> dict[str, Any]:
        """Its fields, for the result file."""
        return asdict(self)


# From a trained learner and its tasks to what is kept of it.
Score = Callable[[Trained, TaskSource], dict[str, Any]]


def run_all(
    trainings: Iterable[tuple[Part, int]],
    scale: Scale,
    out: Path,
    score: Score,
    *,
    on_validation: Callable[..., Any] | None = None,
    progress: bool = True,
    devices: int | None = None,
) -> None:
    """Tune these parts and train their seeds, unless their results are there already.

    Of a training that diverges, the checkpoint that validated best is scored, and the result says so.
    """
    prepare_folder(out)
    for part, seed in trainings:
        step_size = tune(part, scale, out, progress, devices)
        try:
            run(part, scale, seed, step_size, out, score, on_validation, progress, devices)
        except DivergedError as error:
            trained = load_run(run_path(out, part, seed))
            if trained.step == 0:
                raise
            if progress:
                print(
                    f"{part}, seed {seed}: {error} What validated best, update {trained.step}, is kept."
                )
            keep(part, scale, seed, step_size, out, score, trained, diverged=int(trained.last.step) + 1)


def tune(
    part: Part, scale: Scale, out: Path, progress: bool, devices: int | None = None
) -> float | None:
    """The step size with the best validation score after a short training (seed 0).

    Every try is written down before the next, so that an interruption costs one of them.
    """
    if not scale.step_sizes:
        return None
    path = out / "parts" / f"{part}-tuning.json"
    name, higher_is_better = part.recipe(None).learner().posterior.likelihood.selection
    expected = {"part": part.to_json(), "steps": scale.tuning_steps, "tried": scale.step_sizes}
    record = {**expected, f"validation_{name}": {}, "chosen": None, "seed": 0, "commit": commit()}
    if path.exists():
        record = require_same(path, **expected)
        if record["chosen"] is not None:
            return record["chosen"]
    scores = record[f"validation_{name}"]  # by step size as text, as JSON has it
    for step_size in scale.step_sizes:
        if str(step_size) in scores:
            continue
        if progress:
            print(f"{part}: trying step size {step_size}")
        scores[str(step_size)] = _try(part, scale, step_size, name, progress, devices)
        write_record(path, record)
    reached = {size: score for size, score in scores.items() if score is not None}
    if not reached:
        raise DivergedError(
            f"{part} diverged with every step size of {', '.join(map(str, scale.step_sizes))}: leave "
            "it out, or change the grid of the experiment."
        )
    best = (max if higher_is_better else min)(reached, key=lambda size: reached[size])
    write_record(path, {**record, "chosen": float(best)})
    return float(best)


def _try(
    part: Part, scale: Scale, step_size: float, name: str, progress: bool, devices: int | None
) -> float | None:
    """The validation score that a step size reaches; None if it is too large."""
    recipe = part.recipe(step_size)
    try:
        trained = fit(
            recipe.learner(),
            recipe.task_source(),
            steps=scale.tuning_steps,
            batch_size=scale.batch_size,
            seed=0,
            validate_every=scale.tuning_steps,
            progress=progress,
            devices=devices,
        )
    except DivergedError:
        return None
    return trained.history[-1]["validation"][name]


def run(
    part: Part,
    scale: Scale,
    seed: int,
    step_size: float | None,
    out: Path,
    score: Score,
    on_validation: Callable[..., Any] | None = None,
    progress: bool = True,
    devices: int | None = None,
) -> None:
    """Train one seed, resuming if it was interrupted, and keep its scores.

    `on_validation(out, part, seed, learner, source)` may return a function of the step and the
    particles to be called after each validation.
    """
    path, recipe = result_path(out, part, seed), part.recipe(step_size)
    if path.exists():
        require_same(path, steps=scale.steps, recipe=recipe.to_json())
        return
    learner, source = recipe.learner(), recipe.task_source()
    if progress:
        print(f"{part}, seed {seed}: {scale.steps} meta-updates")
    trained = fit(
        learner,
        source,
        steps=scale.steps,
        seed=seed,
        batch_size=scale.batch_size,
        validate_every=max(1, scale.steps // scale.validations),
        out=run_path(out, part, seed),
        resume=True,
        progress=progress,
        devices=devices,
        description=recipe.to_json(),
        on_validation=None
        if on_validation is None
        else on_validation(out, part, seed, learner, source),
    )
    keep(part, scale, seed, step_size, out, score, trained)


def keep(
    part: Part,
    scale: Scale,
    seed: int,
    step_size: float | None,
    out: Path,
    score: Score,
    trained: Trained,
    diverged: int | None = None,
) -> None:
    """Write down what came of a training; `diverged` is the update at which one broke."""
    recipe = part.recipe(step_size)
    record = {
        "part": part.to_json(),
        "seed": seed,
        "steps": scale.steps,
        "diverged": diverged,
        "step_size": step_size,
        "recipe": recipe.to_json(),
        "chosen_checkpoint": trained.step,
        "validation": [
            {"step": entry["step"], "loss": entry["loss"], **entry["validation"]}
            for entry in trained.history
        ],
        **score(trained, recipe.task_source()),
        "commit": commit(),
    }
    write_record(result_path(out, part, seed), record)


def load_run(folder: Path) -> Trained:
    """What a training left in its run folder."""
    return Trained.load(folder, Recipe.from_json(read_description(folder)).learner())
