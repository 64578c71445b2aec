"""Episodes of policies in tasks: the one place where policies and environments meet.

All noise comes from a key folded by task, particle and episode, so that an episode's noise depends
neither on how many others there are nor on how many threads play them.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from bmaml.errors import SimulationError
from bmaml.rl.envs.environment import Environment, HostEnvironment, TaskEnvironment
from bmaml.rl.policy import GaussianPolicy
from bmaml.rl.trajectories import Trajectories

# One key, or one for each task.
Keys = Key[Array, ""] | Key[Array, " task"]
# From particles (task, particle, ...), stacked tasks and keys to episodes (task, particle, episode).
Rollout = Callable[[PyTree, PyTree, Keys], Trajectories]


def make_rollout(environment: TaskEnvironment, policy: GaussianPolicy, episodes: int) -> Rollout:
    """A compiled function that plays `episodes` episodes of every particle in every task."""
    if isinstance(environment, Environment):
        return jax.jit(partial(_play, environment, policy, episodes))
    if isinstance(environment, HostEnvironment):
        return _HostRollout(environment, policy, episodes)
    raise ValueError(
        f"{type(environment).__name__} is neither a functional environment nor one on the host: "
        "derive it from bmaml.rl.envs.Environment or HostEnvironment."
    )


def draw_tasks(environment: TaskEnvironment, key: Key[Array, ""], count: int) -> PyTree:
    """`count` stacked tasks; the first ones do not depend on how many follow."""
    return jax.vmap(lambda index: environment.draw_task(jax.random.fold_in(key, index)))(
        jnp.arange(count)
    )


def task_keys(key: Key[Array, ""], count: int, first: int = 0) -> Key[Array, " task"]:
    """A key for each of `count` tasks, of which `first` is the number of the first."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, first + jnp.arange(count))


def episode_keys(
    key: Keys, tasks: int, particles: int, episodes: int
) -> Key[Array, "task particle episode"]:
    """A key for every episode."""

    def folded(task: Key[Array, ""], particle: Array, episode: Array) -> Key[Array, ""]:
        return jax.random.fold_in(jax.random.fold_in(task, particle), episode)

    over_episodes = jax.vmap(folded, (None, None, 0))
    over_particles = jax.vmap(over_episodes, (None, 0, None))
    over_tasks = jax.vmap(over_particles, (0, None, None))
    keys = key if key.ndim else task_keys(key, tasks)
    return over_tasks(keys, jnp.arange(particles), jnp.arange(episodes))


def _play(
    environment: Environment,
    policy: GaussianPolicy,
    episodes: int,
    particles: PyTree,
    tasks: PyTree,
    key: Keys,
) -> Trajectories:
    """All episodes of a functional environment as one scan over time."""
    tasks_count, particles_count = jax.tree.leaves(particles)[0].shape[:2]
    keys = episode_keys(key, tasks_count, particles_count, episodes)

    def block(weights: PyTree, task: PyTree, keys: Key[Array, " episode"]) -> Trajectories:
        """The episodes of one particle in one task."""
        reset_keys, noise_keys, step_keys = jax.vmap(lambda one: jax.random.split(one, 3), out_axes=1)(
            keys
        )
        shape = (environment.horizon, environment.action_size)
        noise = jax.vmap(lambda one: jax.random.normal(one, shape), out_axes=1)(noise_keys)
        start = jax.vmap(environment.reset, (None, 0))(task, reset_keys)

        def advance(carry: tuple, inputs: tuple) -> tuple:
            states, running = carry
            time, step_noise = inputs
            observations = jax.vmap(environment.observe, (None, 0))(task, states)
            actions = policy.apply(weights, observations).sample(step_noise)
            time_keys = jax.vmap(jax.random.fold_in, (0, None))(step_keys, time)
            states, rewards, ended = jax.vmap(environment.step, (None, 0, 0, 0))(
                task, states, actions, time_keys
            )
            return (states, running & ~ended), (observations, actions, rewards, running)

        inputs = (jnp.arange(environment.horizon), noise)
        _, over_time = jax.lax.scan(advance, (start, jnp.ones(episodes, bool)), inputs)
        return Trajectories(*(jnp.moveaxis(part, 0, 1) for part in over_time))

    return jax.vmap(jax.vmap(block, (0, None, 0)))(particles, tasks, keys)


class _HostRollout:
    """The same for an environment on the host, in lockstep."""

    def __init__(self, environment: HostEnvironment, policy: GaussianPolicy, episodes: int):
        self.environment, self.episodes = environment, episodes
        horizon, action_size = environment.horizon, environment.action_size

        def prepare(
            tasks: PyTree, key: Keys, task_count: int, particle_count: int
        ) -> tuple[PyTree, Key[Array, " all"], Float[Array, "time all action"]]:
            """Tasks and reset keys for every episode, and the noise of every action."""
            keys = episode_keys(key, task_count, particle_count, episodes).reshape(-1)
            each = particle_count * episodes
            repeated = jax.tree.map(lambda leaf: jnp.repeat(leaf, each, axis=0), tasks)
            reset_keys, noise_keys, _ = jax.vmap(lambda one: jax.random.split(one, 3), out_axes=1)(keys)
            noise = jax.vmap(lambda one: jax.random.normal(one, (horizon, action_size)), out_axes=1)(
                noise_keys
            )
            return repeated, reset_keys, noise

        def act(
            particles: PyTree,
            observations: Float[Array, "task particle episode observation"],
            noise: Float[Array, "task particle episode action"],
        ) -> Float[Array, "task particle episode action"]:
            def one(weights: PyTree, seen: Array, drawn: Array) -> Array:
                return policy.apply(weights, seen).sample(drawn)

            return jax.vmap(jax.vmap(one))(particles, observations, noise)

        def time_last(*parts: Array) -> tuple[Array, ...]:
            return tuple(jnp.moveaxis(part, 0, 3) for part in parts)

        self.prepare = jax.jit(prepare, static_argnums=(2, 3))
        self.time_last = jax.jit(time_last)
        self.act = jax.jit(act)

    def __call__(self, particles: PyTree, tasks: PyTree, key: Keys) -> Trajectories:
        count, size = jax.tree.leaves(particles)[0].shape[:2]
        environment, shape = self.environment, (count, size, self.episodes)
        every, reset_keys, noise = self.prepare(tasks, key, count, size)
        noise = np.asarray(noise)
        horizon, total = environment.horizon, count * size * self.episodes
        # Time first, so that a step writes to one place: four writes to two thousand places each took a
        # sixth of the time of the physics.
        seen = np.zeros((horizon, total, environment.observation_size), np.float32)
        actions = np.zeros((horizon, total, environment.action_size), np.float32)
        rewards = np.zeros((horizon, total), np.float32)
        mask = np.zeros((horizon, total), bool)

        active = np.ones(total, bool)
        now = environment.reset(jax.tree.map(np.asarray, every), reset_keys)
        if not np.all(np.isfinite(now)):
            raise SimulationError(
                "The environment's first observations are NaN or infinite: look at what it returns "
                "from a reset."
            )
        for time in range(horizon):
            # Where no episode is over, nothing needs to be picked out.
            playing = slice(None) if active.all() else active
            # Episodes that are over see zeros: anything finite will do for them.
            seen[time, playing], mask[time] = now[playing], active
            drawn = self.act(particles, seen[time].reshape(*shape, -1), noise[time].reshape(*shape, -1))
            actions[time] = chosen = np.asarray(drawn).reshape(total, -1)
            now, reward, ended = environment.step(chosen, active)
            rewards[time, playing] = reward[playing]
            if not (np.all(np.isfinite(now[playing])) and np.all(np.isfinite(reward[playing]))):
                raise SimulationError(
                    f"The simulator returned NaN or infinity at step {time + 1} of an episode: use a "
                    "smaller step size or fewer inner steps, or look at the environment."
                )
            active = active & ~ended
            if not np.any(active):
                break
        parts = (seen, actions, rewards, mask)
        return Trajectories(
            *self.time_last(*(part.reshape(horizon, *shape, *part.shape[2:]) for part in parts))
        )
