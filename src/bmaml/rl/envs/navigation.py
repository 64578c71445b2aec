"""Two-dimensional navigation: go from the origin to a goal that only the reward tells of."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.rl.envs.environment import Environment, Step


@dataclass(frozen=True)
class Navigation(Environment):
    r"""$s \leftarrow s + 0.1\,\mathrm{clip}(a, \pm 1)$; a task is a goal $g \sim U[-0.5, 0.5]^2$.

    The reward is $-\lVert s-g\rVert^2$ as in the paper, or $-\lVert s-g\rVert$ as in its authors' code
    (`reward="authors"`). An episode ends within 0.01 of the goal, measured by the Euclidean distance
    or, in the authors' code, in each coordinate; or after 100 steps.
    """

    reward: str = "paper"
    horizon: int = 100
    observation_size: int = 2
    action_size: int = 2
    reach: float = 0.1
    tolerance: float = 0.01

    def __post_init__(self) -> None:
        if self.reward not in ("paper", "authors"):
            raise ValueError(f"Unknown reward {self.reward!r}: use 'paper' or 'authors'.")

    def draw_task(self, key: Key[Array, ""]) -> Float[Array, "2"]:
        """A goal."""
        return jax.random.uniform(key, (2,), minval=-0.5, maxval=0.5)

    def reset(self, task: PyTree, key: Key[Array, ""]) -> Float[Array, "2"]:
        """The origin."""
        return jnp.zeros_like(task)

    def observe(self, task: PyTree, state: Any) -> Float[Array, "2"]:
        """The position."""
        return state

    def step(self, task: PyTree, state: Any, action: Float[Array, "2"], key: Key[Array, ""]) -> Step:
        """Move, and be told how far the goal is."""
        state = state + self.reach * jnp.clip(action, -1.0, 1.0)
        squared = jnp.sum(jnp.square(state - task))
        distance = jnp.sqrt(squared)
        if self.reward == "paper":
            return Step(state, -squared, distance < self.tolerance)
        return Step(state, -distance, jnp.all(jnp.abs(state - task) < self.tolerance))
