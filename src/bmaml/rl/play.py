"""Play, adapt, play again: what training and evaluation have in common."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.rl.advantages import Experience, all_experience
from bmaml.rl.envs.environment import TaskEnvironment
from bmaml.rl.meta import MetaBatch
from bmaml.rl.policy import GaussianPolicy
from bmaml.rl.presets import Method
from bmaml.rl.rollout import make_rollout, task_keys
from bmaml.rl.settings import Settings
from bmaml.rl.sharing import own_tasks, returns_of_all


class Played(NamedTuple):
    """What came of playing a batch of tasks.

    `returns[k]` are the mean returns of each task and particle after k steps of adaptation, `adapted`
    the particles after the last step (task, particle). Where processes play together, `returns` are
    those of all tasks, the rest is of the tasks that this one played.
    """

    batch: MetaBatch
    returns: Float[Array, "steps task particle"]
    adapted: PyTree


class Player:
    """The compiled functions of one method in one environment.

    With `together`, processes that have joined play a share of the tasks each; all must call it.
    """

    def __init__(
        self,
        environment: TaskEnvironment,
        policy: GaussianPolicy,
        method: Method,
        settings: Settings,
        *,
        together: bool = False,
    ):
        settings = settings.resolved()
        self.together = together
        assert settings.episodes is not None
        self.environment, self.inner_steps = environment, settings.inner_steps
        self.rollout = make_rollout(environment, policy, settings.episodes)

        def experience_of(episodes):
            rows = all_experience(episodes, discount=settings.discount, smoothing=settings.smoothing)
            return rows, jnp.mean(episodes.returns, axis=-1)

        def adapt(particles: PyTree, rows: Experience) -> PyTree:
            return jax.lax.map(lambda one: method.inner.step(policy, *one), (particles, rows))

        self.experience_of = jax.jit(experience_of)
        self.adapt = jax.jit(adapt)

    def __call__(
        self, initial: PyTree, tasks: PyTree, key: Key[Array, ""], *, steps: int | None = None
    ) -> Played:
        """Adapt to every task for `steps` (None: as trained); play before each step and at the end."""
        steps = self.inner_steps if steps is None else steps
        count = jax.tree.leaves(tasks)[0].shape[0]
        own = own_tasks(count) if self.together else slice(0, count)
        tasks = jax.tree.map(lambda leaf: leaf[own], tasks)
        share = own.stop - own.start
        particles = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (share, *leaf.shape)), initial)
        batches, returns = [], []
        for index in range(steps + 1):
            if index > 0:
                particles = self.adapt(particles, batches[-1])
            keys = task_keys(jax.random.fold_in(key, index), share, own.start)
            episodes = self.rollout(particles, tasks, keys)
            rows, achieved = self.experience_of(episodes)
            batches.append(rows)
            returns.append(achieved)
        achieved = returns_of_all(jnp.stack(returns), count) if self.together else jnp.stack(returns)
        return Played(MetaBatch(tuple(batches[:-1]), batches[-1]), achieved, particles)


def summarise(returns: Float[Array, "steps task particle"]) -> dict[str, Float[Array, ""]]:
    """Returns before and after adaptation: each task's best particle's, and the mean over particles.

    The best particle is the one whose episodes went best, as in the paper: with few episodes some of
    its lead is luck.
    """

    def best(one: Array) -> Array:
        return jnp.mean(jnp.max(one, axis=1))

    return {
        "return_best": best(returns[-1]),
        "return_mean": jnp.mean(returns[-1]),
        "return_best_before": best(returns[0]),
        "return_mean_before": jnp.mean(returns[0]),
    }
