"""`bmaml train`: meta-train a method on a source of tasks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

MethodName = Literal["maml", "fomaml", "emaml", "reptile", "bfa", "bmaml"]


@dataclass(frozen=True)
class Train:
    """Meta-train a method; the run folder holds checkpoints, logs and how to rebuild it."""

    tasks: tyro.conf.Positional[Literal["sinusoid"]]
    """where tasks come from"""
    out: Path
    """the run folder"""
    method: MethodName = "bmaml"
    """see `bmaml methods`"""
    particles: int | None = None
    """M, the number of particles (default: the method's own)"""
    shots: int = 5
    """K, support examples a task"""
    num_tasks: int = 100
    """|T|, training tasks, drawn once; 0 draws fresh tasks without end"""
    steps: int = 10_000
    """meta-updates"""
    seed: int = 0
    """seed of tasks, initial particles and batches"""
    batch_size: int = 10
    """tasks a meta-update"""
    step_size: float | None = None
    """inner step size (default: the method's own)"""
    inner_steps: int | None = None
    """inner steps (default: the method's own)"""
    settings: Literal["paper", "authors"] = "paper"
    """the paper's mathematics, or what its authors' code does"""
    resume: bool = False
    """go on with an interrupted run"""
    quiet: bool = False
    """no progress bar"""

    def run(self) -> None:
        """Train and say where the result is."""
        from bmaml.errors import BmamlError
        from bmaml.recipe import Recipe
        from bmaml.train import fit

        if self.steps < 1 or self.batch_size < 1:
            raise BmamlError("--steps and --batch-size must be at least 1.")
        if self.particles is not None and self.method in ("maml", "fomaml") and self.particles != 1:
            raise BmamlError(f"{self.method} has one particle: leave out --particles, or use emaml.")
        options = {
            "num_particles": self.particles if self.method not in ("maml", "fomaml") else None,
            "step_size": self.step_size,
            "inner_steps": self.inner_steps,
            "settings": self.settings,
        }
        recipe = Recipe(
            tasks=self.tasks,
            method=self.method,
            method_options={name: value for name, value in options.items() if value is not None},
            task_options={"shots": self.shots, "num_tasks": self.num_tasks or None},
        )
        try:
            trained = fit(
                recipe.learner(),
                recipe.task_source(),
                steps=self.steps,
                seed=self.seed,
                batch_size=self.batch_size,
                out=self.out,
                resume=self.resume,
                progress=not self.quiet,
                description=recipe.to_json(),
            )
        except ValueError as error:  # numbers that do not go together, such as too few tasks
            raise BmamlError(str(error)) from error
        best = next(entry for entry in trained.history if entry["step"] == trained.step)
        print(
            f"Trained {self.steps} updates; validation MSE {best['validation']['mse']:.3f} at update "
            f"{trained.step}. Next: bmaml evaluate {self.out}"
        )
