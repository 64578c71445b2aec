"""Two kinds of environment, functional and on the host, that both draw tasks and play episodes."""

from abc import ABC, abstractmethod
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

NAN_ACTION = "A policy's action is NaN or infinite: use a smaller step size or fewer inner steps."


class Step(NamedTuple):
    """What one step of one episode leads to."""

    state: PyTree
    reward: Float[Array, ""]
    ended: Bool[Array, ""]


class HostStep(NamedTuple):
    """What one step of many episodes leads to; rows of episodes that were not active mean nothing."""

    observations: Float[np.ndarray, "episode observation"]
    rewards: Float[np.ndarray, " episode"]
    ended: Bool[np.ndarray, " episode"]


class TaskEnvironment(ABC):
    """A distribution of tasks. An action's components lie in [-1, 1]; the environment clips them."""

    observation_size: int
    action_size: int
    horizon: int

    @abstractmethod
    def draw_task(self, key: Key[Array, ""]) -> PyTree:
        """One task: arrays that say what sets it apart."""

    def describe(self) -> dict[str, Any]:
        """Its kind and numbers, so that a run does not go on in another environment."""
        told = {"horizon": self.horizon, "observations": self.observation_size}
        told |= {"actions": self.action_size}
        if is_dataclass(self):
            settings = {one.name: getattr(self, one.name) for one in fields(self)}
            told |= {key: one for key, one in settings.items() if isinstance(one, int | float | str)}
        return {"kind": type(self).__name__, **told}


class Environment(TaskEnvironment):
    """An environment of pure functions of one episode; episodes are batched outside."""

    @abstractmethod
    def reset(self, task: PyTree, key: Key[Array, ""]) -> PyTree:
        """The state that an episode begins in."""

    @abstractmethod
    def observe(self, task: PyTree, state: PyTree) -> Float[Array, " observation"]:
        """What the policy sees of a state."""

    @abstractmethod
    def step(
        self, task: PyTree, state: PyTree, action: Float[Array, " action"], key: Key[Array, ""]
    ) -> Step:
        """One step; `key` is for environments that draw noise."""


class HostEnvironment(TaskEnvironment):
    """Many episodes in lockstep outside of JAX, such as a physics engine's."""

    @abstractmethod
    def reset(
        self, tasks: PyTree, keys: Key[Array, " episode"]
    ) -> Float[np.ndarray, "episode observation"]:
        """Begin one episode for each of the stacked tasks, its noise drawn with its own key."""

    @abstractmethod
    def step(
        self,
        actions: Float[np.ndarray, "episode action"],
        active: Bool[np.ndarray, " episode"],
    ) -> HostStep:
        """One step of the active episodes."""

    def close(self) -> None:
        """Let go of what the environment holds."""
        return
