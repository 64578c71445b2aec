"""Navigation from above: the goal, the way and where it ends."""

from typing import Any

from jaxtyping import PyTree

from bmaml.rl.render.recording import Episode
from bmaml.rl.render.scene import Scene


class NavigationScene(Scene):
    """The unit square around the origin, with some room."""

    def title(self, task: PyTree) -> str:
        """Where to go."""
        return f"goal ({task[0]:.2f}, {task[1]:.2f})"

    def draw(self, axis: Any, task: PyTree, episode: Episode, time: int, *, trail: bool) -> None:
        """The path so far is always drawn: it is all there is to see."""
        path = episode.states[: time + 1]
        axis.plot(path[:, 0], path[:, 1], "-", color="#1f77b4", lw=0.8, alpha=0.7)
        axis.plot(*path[-1], "o", color="#1f77b4", ms=5)
        axis.plot(*task, "*", color="#d62728", ms=12)
        axis.plot(0.0, 0.0, "+", color="black", ms=7)
        axis.set_xlim(-1.0, 1.0)
        axis.set_ylim(-1.0, 1.0)
        axis.set_aspect("equal")
