"""A small world that several tests share."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from bmaml import particles as sets
from bmaml.rl.advantages import Experience
from bmaml.rl.envs import HostEnvironment, HostStep, Navigation
from bmaml.rl.meta import MetaBatch
from bmaml.rl.policy import GaussianPolicy, gaussian_policy

POLICY = gaussian_policy(2, hidden=(5,), activation=jnp.tanh)
ENVIRONMENT = Navigation(reward="authors", horizon=6, tolerance=0.05)


def initial_particles(num_particles: int, seed: int = 0, policy: GaussianPolicy = POLICY):
    return sets.make(
        lambda key: policy.init(key, jnp.zeros((1, 2))), jax.random.key(seed), num_particles
    )


def for_tasks(particles, tasks: int):
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (tasks, *leaf.shape)), particles)


@dataclass
class HostNavigation(HostEnvironment):
    """Navigation played with NumPy."""

    horizon: int = 6
    observation_size: int = 2
    action_size: int = 2
    spoil: bool = False
    spoil_after: int = 0  # resets

    def __post_init__(self):
        self.resets = 0

    def draw_task(self, key):
        return ENVIRONMENT.draw_task(key)

    def reset(self, tasks, keys):
        self.goals, self.states = np.asarray(tasks), np.zeros_like(tasks)
        self.resets += 1
        return self.states.copy()

    def step(self, actions, active):
        moves = np.float32(0.1) * np.clip(actions, -1.0, 1.0)
        self.states = np.where(active[:, None], self.states + moves, self.states)
        gap = self.states - self.goals
        rewards = -np.sqrt(np.sum(gap**2, axis=1))
        if self.spoil and self.resets > self.spoil_after:
            rewards[0] = np.nan
        return HostStep(self.states.copy(), rewards, np.all(np.abs(gap) < 0.05, axis=1))


def rows(*batch: int, seed: int = 5, count: int = 8) -> Experience:
    """Experience that no one had, with the given leading axes."""
    keys = jax.random.split(jax.random.key(seed), 3)
    weights = jnp.where(jnp.arange(count) < count - 2, 1.0 / (count - 2), 0.0)
    return Experience(
        0.3 * jax.random.normal(keys[0], (*batch, count, 2)),
        jax.random.normal(keys[1], (*batch, count, 2)),
        jax.random.normal(keys[2], (*batch, count)),
        jnp.broadcast_to(weights, (*batch, count)),
    )


def meta_batch(tasks: int, particles: int, *, inner_steps: int = 1) -> MetaBatch:
    support = tuple(rows(tasks, particles, seed=10 + step) for step in range(inner_steps))
    return MetaBatch(support, rows(tasks, particles, seed=20))
