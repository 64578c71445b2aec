"""Episodes to look at: where the best particle of each task went, before and after adaptation."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from bmaml.rl.envs.environment import HostEnvironment, HostStep
from bmaml.rl.envs.locomotion import Locomotion
from bmaml.rl.evaluation import SPLITS
from bmaml.rl.rollout import draw_tasks, make_rollout
from bmaml.rl.trained import TrainedPolicies

# Beside the two keys that the one of the test tasks is split into.
PICTURE = 2


class Episode(NamedTuple):
    """One episode: the state that each of its steps was taken in."""

    states: Float[np.ndarray, "time state"]
    total: float


class Recording(NamedTuple):
    """One task, played once before and once after adaptation."""

    task: PyTree
    before: Episode
    after: Episode


def record(trained: TrainedPolicies, count: int, *, steps: int | None = None) -> list[Recording]:
    """Adapt to the first `count` test tasks, then let the particle play that did best in each."""
    world = trained.environment
    task_key, play_key = jax.random.split(jax.random.key(SPLITS["test"]))
    tasks = draw_tasks(world, task_key, count)
    adapted, returns = trained.adapt(tasks, key=play_key, steps=steps)
    best = jnp.argmax(returns[-1], axis=1)
    before = jax.tree.map(lambda leaf: leaf[best][:, None], trained.particles)
    after = jax.tree.map(lambda leaf: leaf[jnp.arange(count), best][:, None], adapted)
    # The same noise before and after: what differs is the policy. `play_key` is for adapting.
    key = jax.random.fold_in(jax.random.key(SPLITS["test"]), PICTURE)
    played = [_episodes(trained, particles, tasks, key) for particles in (before, after)]
    each = [jax.tree.map(lambda leaf, at=at: np.asarray(leaf[at]), tasks) for at in range(count)]
    return [Recording(*parts) for parts in zip(each, *played, strict=True)]


def _episodes(
    trained: TrainedPolicies, particles: PyTree, tasks: PyTree, key: Key[Array, ""]
) -> list[Episode]:
    """One episode of one particle in each task."""
    world = trained.environment
    watched = Watched(world) if isinstance(world, Locomotion) else world
    seen = make_rollout(watched, trained.policy, 1)(particles, tasks, key)
    lengths, totals = np.asarray(seen.lengths)[:, 0, 0], np.asarray(seen.returns)[:, 0, 0]
    if isinstance(watched, Watched):
        states = np.stack(watched.states, axis=1)
    else:
        states = np.asarray(seen.observations)[:, 0, 0]
    return [Episode(states[at, : lengths[at]], float(totals[at])) for at in range(len(states))]


class Watched(HostEnvironment):
    """Cheetah or ant, with the positions of all joints written down; a policy does not see them all."""

    def __init__(self, world: Locomotion):
        self.world, self.states = world, []
        self.observation_size, self.action_size = world.observation_size, world.action_size
        self.horizon = world.horizon

    def draw_task(self, key: Key[Array, ""]) -> PyTree:
        """The robot's."""
        return self.world.draw_task(key)

    def reset(
        self, tasks: PyTree, keys: Key[Array, " episode"]
    ) -> Float[np.ndarray, "episode observation"]:
        """Begin, and write down where."""
        observations = self.world.reset(tasks, keys)
        self.states = [self.world.positions.copy()]
        return observations

    def step(
        self,
        actions: Float[np.ndarray, "episode action"],
        active: Bool[np.ndarray, " episode"],
    ) -> HostStep:
        """One step, and where it led."""
        taken = self.world.step(actions, active)
        self.states.append(self.world.positions.copy())
        return taken
