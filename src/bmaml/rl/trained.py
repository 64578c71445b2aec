"""What meta-training of policies leaves: particles that a few episodes adapt to a task."""

import math
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from bmaml.errors import RunError, SimulationError
from bmaml.rl.envs.environment import TaskEnvironment
from bmaml.rl.envs.registry import ENVIRONMENTS
from bmaml.rl.evaluation import TEST_TASKS, held_out_returns
from bmaml.rl.play import Player
from bmaml.rl.policy import GaussianPolicy
from bmaml.rl.settings import Settings
from bmaml.run_folder import RunFolder, as_far_as_told, difference, read_description
from bmaml.training_log import read_log
from bmaml.training_state import describe, pick, require_validated


@dataclass(frozen=True)
class TrainedPolicies:
    """Meta-trained policies.

    Arguments:
        settings: of the training, with nothing left open.
        environment: what they act in.
        policy: what the particles are weights of.
        particles: the initial particles that did best on validation tasks.
        last: the initial particles after the last iteration.
        iteration: after how many iterations `particles` were taken.
        history: the entries of the log.
    """

    settings: Settings
    environment: TaskEnvironment
    policy: GaussianPolicy
    particles: PyTree
    last: PyTree
    iteration: int
    history: list[dict[str, Any]] = field(default_factory=list)

    @cached_property
    def player(self) -> Player:
        """The compiled functions that play and adapt."""
        return Player(self.environment, self.policy, self.settings.build_method(), self.settings)

    def adapt(
        self, tasks: PyTree, *, key: Key[Array, ""] | None = None, steps: int | None = None
    ) -> tuple[PyTree, Float[Array, "steps task particle"]]:
        """Adapt to stacked tasks by playing them; the particles of each, and the returns on the way."""
        key = jax.random.key(0) if key is None else key
        played = self.player(self.particles, jax.tree.map(jnp.asarray, tasks), key, steps=steps)
        return played.adapted, played.returns

    def evaluate(self, tasks: int = TEST_TASKS, *, steps: int | None = None) -> dict[str, float]:
        """Returns on `tasks` test tasks, before and after `steps` of adaptation (None: as trained)."""
        scores = held_out_returns(self.player, self.particles, "test", tasks, steps=steps)
        told = {name: float(value) for name, value in scores.items()}
        if not all(map(math.isfinite, told.values())):
            raise SimulationError(
                "The returns of the adapted policies are not finite numbers: adapt by fewer steps, or "
                "train with a smaller step size."
            )
        return told

    @classmethod
    def load(
        cls,
        folder: str | os.PathLike[str],
        *,
        which: Literal["best", "last"] = "best",
        environment: TaskEnvironment | None = None,
        policy: GaussianPolicy | None = None,
        threads: int | None = None,
    ) -> "TrainedPolicies":
        """The result of a run; give the environment or the policy if they were your own."""
        from bmaml.rl.train import begin, policy_for

        run = RunFolder.read(folder)
        values = read_description(folder).get("reinforcement")
        if not isinstance(values, dict):
            raise RunError(f"{run.path} is not a run of reinforcement learning.")
        try:
            settings = replace(Settings(**values), threads=threads).resolved()
        except TypeError as error:
            raise RunError(
                f"{run.path / 'run.json'} was written by another version of bmaml: use the version "
                "that made it."
            ) from error
        if environment is None and settings.environment not in ENVIRONMENTS:
            raise RunError(
                f"{run.path} was trained in an environment of its own, {settings.environment!r}: load "
                "it in Python, with TrainedPolicies.load(folder, environment=...)."
            )
        world = settings.build_environment() if environment is None else environment
        require_same_world(run, world)
        policy = policy_for(world, policy)
        like = jax.eval_shape(lambda: begin(settings, world, policy, settings.build_method()))
        if run.settings.get("particles") != describe(like.state.particles):
            raise RunError(
                f"{run.path} was trained with another policy, with particles of other shapes: give "
                "the environment and the policy that it was trained with."
            )
        try:
            snapshot = run.checkpoints.restore(like)
        finally:
            run.close()
        if snapshot is None:
            raise RunError(f"{run.path} has no checkpoint yet: resume the run first.")
        step = int(snapshot.state.step)
        if which == "best":
            require_validated(run.path, *pick(snapshot, 0))
        best, last = (
            jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[0]), one.particles)
            for one in (snapshot.best, snapshot.state)
        )
        entries = [entry for entry in read_log(run.path / "log.jsonl") if entry["step"] <= step]
        chosen = (best, int(snapshot.best.step[0])) if which == "best" else (last, step)
        return cls(settings, world, policy, chosen[0], last, chosen[1], entries)


def require_same_world(run: RunFolder, environment: TaskEnvironment) -> None:
    """Refuse an environment that the run was not trained in."""
    before = run.settings.get("environment", {})  # earlier versions do not say
    now = as_far_as_told(before, environment.describe())
    if isinstance(before, dict) and before != now:
        which, old, new = difference("environment", before, now)
        raise RunError(
            f"{run.path} was trained in an {which} of {old}, not {new}: give the environment it was "
            "trained in."
        )
