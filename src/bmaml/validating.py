"""What a training asks of its validation tasks: how often, with what scores, and how sure to be."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import jax
from jax.sharding import Mesh
from jaxtyping import PyTree

from bmaml.held_out import validate_tasks
from bmaml.learner import Learner
from bmaml.meta_update import over_seeds
from bmaml.run_folder import RunFolder
from bmaml.scale.mesh import everywhere, here, replicate
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet
from bmaml.training_loop import Scores, Validate
from bmaml.training_state import State


def interval(steps: int, resumed: str | os.PathLike[str] | None) -> int:
    """Updates between validations: of a short run, validating would otherwise be most of the work."""
    if resumed is not None and (Path(resumed) / "run.json").exists():
        before = RunFolder.read(resumed).settings.get("validate_every")
        if isinstance(before, int):
            return before
    return min(steps, 100) if steps < 10_000 else min(1000, steps // 100)


def calibration(learner: Learner) -> Callable[[PyTree, Scores], PyTree]:
    """The particles of every seed as sure as its validation tasks say they may be."""
    sharpen = jax.jit(jax.vmap(learner.sharpen))

    def calibrated(particles: PyTree, scores: Scores) -> PyTree:
        excess = scores.get("overconfidence")
        return particles if excess is None else sharpen(particles, -excess)

    return calibrated


def compile_validation(
    learner: Learner, held_out: Task | TaskSet, state: State, count: int, mesh: Mesh | None
) -> Validate:
    """The scores of every seed's particles on the validation tasks.

    Of several processes each scores all tasks, on its own devices: they choose the same particles.
    """
    local = None if mesh is None else mesh.local_mesh
    score = over_seeds(partial(validate_tasks, learner, mesh=local), (0, None), count)
    if local is None:
        compiled = jax.jit(score).lower(state.particles, held_out).compile()
        return lambda particles: compiled(particles, held_out)
    placed = replicate(held_out, local)
    spread = jax.jit(score, in_shardings=everywhere(local), out_shardings=everywhere(local))
    compiled = spread.lower(state.particles, placed).compile()
    return lambda particles: here(compiled(replicate(particles, local), placed))
