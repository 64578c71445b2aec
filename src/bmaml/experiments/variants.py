"""The variants that the paper's Discussion and Conclusion name, side by side on its sinusoids.

Every row of the table changes one thing about EMAML, BFA, BMAML or Reptile. How they are trained and
scored, alike for all, is in `study`. The inner step size is tuned for each pair of inner update and
meta-objective; a distance, learned steps and all kernels but IMQ take that of the pair they belong to.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from bmaml.errors import DivergedError
from bmaml.experiments import grid, study, tuning, variants_figures
from bmaml.experiments.result_files import (
    choose,
    commit,
    load_results,
    prepare_folder,
    require_same,
    training_name,
    write_record,
)
from bmaml.recipe import Recipe
from bmaml.tasks import TaskSource
from bmaml.trained import Trained
from bmaml.writing import reporting_write_errors


@dataclass(frozen=True)
class Variant:
    """A preset with options; it takes the step size of `tuned_as`."""

    method: str
    tuned_as: str
    options: dict[str, Any] = field(default_factory=dict)


# Every inner update under every objective, and the kernels of SVGD where it is the method's own.
VARIANTS: dict[str, Variant] = {
    "emaml": Variant("emaml", "emaml"),
    "emaml-svgd": Variant("emaml", "emaml-svgd", {"inner": "svgd"}),
    "emaml-sgld": Variant("emaml", "emaml-sgld", {"inner": "sgld"}),
    "emaml-hmc": Variant("emaml", "emaml-hmc", {"inner": "hmc"}),
    "emaml-learned-steps": Variant("emaml", "emaml", {"learned_steps": True}),
    "bfa": Variant("bfa", "bfa"),
    "bfa-gd": Variant("bfa", "bfa-gd", {"inner": "gd"}),
    "bfa-sgld": Variant("bfa", "bfa-sgld", {"inner": "sgld"}),
    "bfa-sgld-warm": Variant("bfa", "bfa-sgld", {"inner": "sgld", "temperature": 0.01}),
    "bfa-hmc": Variant("bfa", "bfa-hmc", {"inner": "hmc"}),
    "bfa-learned": Variant("bfa", "bfa", {"kernel": "rbf-learned"}),
    "bfa-layers": Variant("bfa", "bfa", {"kernel": "rbf-layers"}),
    # About what the median rule says of fresh particles of this network.
    "bfa-fixed": Variant("bfa", "bfa", {"kernel": "rbf-70"}),
    # With IMQ's tails every particle feels all others, and steps are longer than with RBF.
    "bfa-imq": Variant("bfa", "bfa-imq", {"kernel": "imq"}),
    "bfa-learned-steps": Variant("bfa", "bfa", {"learned_steps": True}),
    "bmaml": Variant("bmaml", "bmaml"),
    "bmaml-gd": Variant("bmaml", "bmaml-gd", {"inner": "gd"}),
    "bmaml-sgld": Variant("bmaml", "bmaml-sgld", {"inner": "sgld"}),
    "bmaml-hmc": Variant("bmaml", "bmaml-hmc", {"inner": "hmc"}),
    "bmaml-learned": Variant("bmaml", "bmaml", {"kernel": "rbf-learned"}),
    "bmaml-layers": Variant("bmaml", "bmaml", {"kernel": "rbf-layers"}),
    "bmaml-fixed": Variant("bmaml", "bmaml", {"kernel": "rbf-70"}),
    "bmaml-imq": Variant("bmaml", "bmaml-imq", {"kernel": "imq"}),
    "bmaml-imq-learned": Variant("bmaml", "bmaml-imq", {"kernel": "imq-learned"}),
    "bmaml-mmd": Variant("bmaml", "bmaml", {"distance": "mmd"}),
    "bmaml-mmd-imq": Variant("bmaml", "bmaml", {"distance": "mmd-imq"}),
    "bmaml-prediction": Variant("bmaml", "bmaml", {"distance": "prediction"}),
    "bmaml-learned-steps": Variant("bmaml", "bmaml", {"learned_steps": True}),
    "reptile": Variant("reptile", "reptile"),
    "reptile-svgd": Variant("reptile", "reptile-svgd", {"inner": "svgd"}),
}
# What the cost of the others is a multiple of.
REFERENCE = "emaml"


@dataclass(frozen=True, kw_only=True)
class Scale(grid.Scale):
    """How much to run."""

    shots: tuple[int, ...] = (5, 10)
    num_tasks: int = 100
    held_out_tasks: int = 500
    num_particles: int = 10
    variants: tuple[str, ...] = tuple(VARIANTS)
    methods: tuple[tuple[str, int], ...] = ()
    timed_rounds: int = 20


SCALES = {
    "quick": Scale(
        steps=500,
        seeds=(0,),
        shots=(5,),
        held_out_tasks=200,
        num_particles=5,
        variants=("emaml", "bfa", "bmaml", "bmaml-sgld", "bmaml-layers", "bmaml-learned-steps"),
        validations=2,
    ),
    "medium": Scale(
        steps=1_000,
        seeds=(0, 1, 2),
        held_out_tasks=200,
        step_sizes=(0.003, 0.01, 0.03, 0.1),
        tuning_steps=1_000,
        validations=2,
    ),
    "full": Scale(
        steps=10_000,
        seeds=(0, 1, 2),
        step_sizes=(0.003, 0.01, 0.03, 0.1),
        tuning_steps=2_000,
    ),
}


@dataclass(frozen=True)
class Part(grid.Part):
    """One variant at one number of shots."""

    variant: str
    shots: int
    num_tasks: int
    held_out_tasks: int

    def __str__(self) -> str:
        return f"K{self.shots}-{self.variant}"

    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""
        options = {**self.method_options(step_size), **VARIANTS[self.variant].options}
        tasks = {name: getattr(self, name) for name in ("shots", "num_tasks", "held_out_tasks")}
        return Recipe("sinusoid", self.method, options, tasks)


def part_of(scale: Scale, variant: str, shots: int) -> Part:
    """A variant in the setting of a scale."""
    method = VARIANTS[variant].method
    return Part(method, scale.num_particles, variant, shots, scale.num_tasks, scale.held_out_tasks)


def parts(scale: Scale) -> list[Part]:
    """All of a scale's parts, the variants of one number of shots together."""
    return [part_of(scale, variant, shots) for shots, variant in product(scale.shots, scale.variants)]


def reproduce(scale: Scale, out: Path, *, only: str | None = None, progress: bool = True) -> None:
    """Run what is missing in `out`, then print the table and draw the picture."""
    trainings = choose(parts(scale), scale.seeds, only)
    prepare_folder(out)
    for part, seed in trainings:
        # With one number of shots: step sizes are in units of squared error, not of examples.
        variant = VARIANTS[part.variant]
        tuned = part_of(scale, variant.tuned_as, scale.shots[0])
        step_size = tuning.tune(tuned, scale, out, progress)
        train(part, scale, seed, step_size, out, progress)
        measure_cost(part.variant, scale, out)
    results = load_results(parts(scale), scale.seeds, out, steps=scale.steps)
    for result in results:
        path = cost_path(out, result["part"]["variant"])
        # Missing only if the run was stopped between the last training and the measurement.
        result["cost"] = require_same(path)["ratio"] if path.exists() else float("nan")
    failed = Counter(
        (part.shots, part.variant)
        for part, seed in product(parts(scale), scale.seeds)
        if diverged_path(out, part, seed).exists()
    )
    with reporting_write_errors(out):
        variants_figures.write_csv(results, out / "results.csv")
        variants_figures.write_markdown(results, failed, out / "results.md")
        variants_figures.draw_scores(results, out / "variants")
    variants_figures.print_table(results, failed)
    print(f"Written to {out}: results.csv, results.md, and variants as .png and .svg")


def train(
    part: Part, scale: Scale, seed: int, step_size: float | None, out: Path, progress: bool
) -> None:
    """Train one seed; that it diverged is a result, too, and the others go on."""
    path = diverged_path(out, part, seed)
    if path.exists():
        require_same(path, part=part.to_json(), steps=scale.steps, step_size=step_size)
        return
    try:
        study.Training(part, seed, scale, step_size, out, score).run(progress=progress)
    except DivergedError as error:
        told = {"part": part.to_json(), "steps": scale.steps, "step_size": step_size}
        write_record(path, {**told, "seed": seed, "diverged": str(error), "commit": commit()})


def score(trained: Trained, source: TaskSource) -> dict[str, Any]:
    """Test scores after the trained number of steps."""
    return {"test": trained.evaluate(source.held_out("test"))}


def measure_cost(variant: str, scale: Scale, out: Path) -> None:
    """The time of a meta-gradient as a multiple of EMAML's, taken in turns in this process.

    Of the processor, not of the clock: other programs may run beside. The smallest of many rounds, with
    the first number of shots.
    """
    path = cost_path(out, variant)
    if path.exists():
        return
    part = part_of(scale, variant, scale.shots[0])
    runs = [_meta_gradient(one, scale) for one in (part_of(scale, REFERENCE, part.shots), part)]
    best = [float("inf")] * len(runs)
    for _ in range(scale.timed_rounds):
        for index, run in enumerate(runs):
            began = time.process_time()
            run()
            best[index] = min(best[index], time.process_time() - began)
    record = {
        "part": part.to_json(),
        "ratio": best[1] / best[0],
        "milliseconds": 1e3 * best[1],
        "reference_milliseconds": 1e3 * best[0],
        "commit": commit(),
    }
    write_record(path, record)


def _meta_gradient(part: Part, scale: Scale) -> Any:
    """A function that computes the gradient of one batch, compiled and run once."""
    recipe = part.recipe(None)
    learner, source = recipe.learner(), recipe.task_source()
    tasks = source.batch(source.training_set(jax.random.key(0)), jax.random.key(1), scale.batch_size)
    initial = learner.init(jax.random.key(2), jnp.zeros_like(tasks.support.x[0]))
    gradient = jax.jit(jax.value_and_grad(learner.meta_loss))

    def run() -> None:
        jax.block_until_ready(gradient(initial, tasks, key=jax.random.key(3)))

    run()
    return run


def diverged_path(out: Path, part: Part, seed: int) -> Path:
    """The file that says that a training diverged."""
    return out / "parts" / f"{training_name(part, seed)}-diverged.json"


def cost_path(out: Path, variant: str) -> Path:
    """The file with a variant's cost."""
    return out / "parts" / f"{variant}-cost.json"
