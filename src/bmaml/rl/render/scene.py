"""The contract of what draws episodes: one panel for one episode at one moment."""

from abc import ABC, abstractmethod
from typing import Any

from jaxtyping import PyTree

from bmaml.rl.render.recording import Episode


class Scene(ABC):
    """What an environment looks like."""

    # Of a panel: height over width.
    proportion: float = 1.0

    @abstractmethod
    def title(self, task: PyTree) -> str:
        """The task in words."""

    @abstractmethod
    def draw(self, axis: Any, task: PyTree, episode: Episode, time: int, *, trail: bool) -> None:
        """The state at `time`; with `trail` also how it came there."""
