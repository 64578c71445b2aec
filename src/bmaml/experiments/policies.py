"""What the paper's experiments in reinforcement learning share: a grid of trainings, kept in files.

No setting is tuned: all methods have those of the paper, or of its authors' code. Checkpoints are
chosen on validation tasks, and scores come from test tasks that neither training nor that choice saw.
Results are written as they come, so that an interrupted run loses at most what came after the last
checkpoint of one training.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bmaml.experiments import policies_figures
from bmaml.experiments.result_files import (
    Result,
    choose,
    commit,
    load_results,
    prepare_folder,
    require_same,
    result_path,
    run_path,
    write_record,
)
from bmaml.rl import Settings, fit
from bmaml.rl.train import describe_run
from bmaml.writing import reporting_write_errors

# With one particle SVPG is VPG, and svpg-trpo would be vpg-trpo again, bit for bit.
TRPO = (("vpg-trpo", 1), ("vpg-trpo", 5), ("svpg-trpo", 5), ("vpg-trpo", 10), ("svpg-trpo", 10))
DISTANCE = (
    *(("vpg-reptile", 1), ("svpg-chaser", 1), ("vpg-reptile", 5), ("svpg-chaser", 5)),
    *(("vpg-reptile", 10), ("svpg-chaser", 10)),
)


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much to train; what is None is the paper's, see `bmaml.rl.Settings`."""

    environments: tuple[str, ...]
    methods: tuple[tuple[str, int], ...]  # name and number of particles
    seeds: tuple[int, ...]
    settings: str = "authors"
    iterations: int | None = None
    tasks: int = 20
    episodes: int | None = None
    held_out_tasks: int = 40
    validations: int = 20


@dataclass(frozen=True)
class Part:
    """One method in one environment; `str(part)` names it, and its files."""

    environment: str
    method: str
    num_particles: int

    def __str__(self) -> str:
        return f"{self.environment}-M{self.num_particles}-{self.method}"

    def settings(self, scale: Scale, seed: int) -> Settings:
        """How to train it."""
        return Settings(
            self.environment,
            self.method,
            scale.settings,
            self.num_particles,
            iterations=scale.iterations,
            tasks=scale.tasks,
            episodes=scale.episodes,
            held_out_tasks=scale.held_out_tasks,
            seed=seed,
        ).resolved()


def parts(scale: Scale) -> list[Part]:
    """All of a scale's parts, environment by environment."""
    return [
        Part(environment, method, size)
        for environment in scale.environments
        for method, size in scale.methods
    ]


def reproduce(
    title: str, scale: Scale, out: Path, *, only: str | None = None, progress: bool = True
) -> None:
    """Run what is missing in `out`, draw the figure anew after each training, print the table."""
    trainings = choose(parts(scale), scale.seeds, only)
    prepare_folder(out)
    results: list[Result] = []
    # All parts of one seed come first: a run that is stopped early compares what it has.
    for part, seed in sorted(trainings, key=lambda pair: pair[1]):
        if run(part, scale, seed, out, progress) or not results:
            results = write(scale, out)
    policies_figures.print_table(title, results)
    print(f"Written to {out}: results.csv, curves.csv, results.md, and returns as .png and .svg")


def write(scale: Scale, out: Path) -> list[Result]:
    """Tables and figure of all finished trainings."""
    results = load_all(scale, out)
    with reporting_write_errors(out):
        policies_figures.write_csv(results, out / "results.csv")
        policies_figures.write_curves(results, out / "curves.csv")
        policies_figures.write_markdown(results, out / "results.md")
        policies_figures.draw_curves(results, out / "returns")
    return results


def run(part: Part, scale: Scale, seed: int, out: Path, progress: bool = True) -> bool:
    """Train one seed, resuming if it was interrupted, and keep its returns; False if they are there."""
    path, settings = result_path(out, part, seed), part.settings(scale, seed)
    described = describe_run(settings)["reinforcement"]
    if path.exists():
        require_same(path, settings=described)
        return False
    assert settings.iterations is not None
    if progress:
        print(f"{part}, seed {seed}: {settings.iterations} meta-updates", flush=True)
    trained = fit(
        settings,
        validate_every=max(1, settings.iterations // scale.validations),
        out=run_path(out, part, seed),
        resume=True,
        progress=progress,
    )
    record = {
        "part": asdict(part),
        "seed": seed,
        "settings": described,
        "chosen_checkpoint": trained.iteration,
        "curve": trained.history,
        "test": trained.evaluate(scale.held_out_tasks),
        "training_at_the_end": at_the_end(trained.history, settings.iterations),
        "commit": commit(),
    }
    write_record(path, record)
    return True


def at_the_end(curve: Sequence[dict[str, Any]], iterations: int) -> dict[str, float]:
    """Means over the last tenth of the iterations, on the tasks trained on: what the authors logged."""
    last = [entry["training"] for entry in curve if entry["step"] > 0.9 * iterations]
    return {name: float(np.mean([entry[name] for entry in last])) for name in last[0]}


def load_all(scale: Scale, out: Path) -> list[Result]:
    """All finished trainings in `out`."""
    results = []
    for part in parts(scale):
        for seed in scale.seeds:
            described = describe_run(part.settings(scale, seed))["reinforcement"]
            results += load_results([part], [seed], out, settings=described)
    return results
