"""Cheetah and ant as the capsules they are made of, seen from the side and slightly above.

MuJoCo's own renderer needs a graphics driver; this needs none.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, PyTree

from bmaml.rl.envs.locomotion import Locomotion
from bmaml.rl.render.recording import Episode
from bmaml.rl.render.scene import Scene

# How far to the right and up a point moves in the picture, for each metre away from the onlooker.
OBLIQUE = (0.3, 0.35)
GHOSTS = 5
# Metres to both sides of the middle of a panel, and from a robot's middle to its ends.
HALF_WIDTH, ROBOT = 2.0, 1.2


class RobotScene(Scene):
    """A robot on a floor with a mark every metre."""

    proportion = 0.42

    def __init__(self, world: Locomotion):
        self.goal, self.model, self.mujoco = world.goal, world.model, world.mujoco
        self.data = world.mujoco.MjData(world.model)
        self.torso = world.torso
        # The floor belongs to the world, which is body 0.
        self.shapes = [at for at in range(world.model.ngeom) if world.model.geom_bodyid[at] > 0]

    def title(self, task: PyTree) -> str:
        """How fast, or where to, to run."""
        if self.goal == "velocity":
            return f"goal {float(task):.2f} m/s"
        return "forward" if task > 0 else "backward"

    def draw(self, axis: Any, task: PyTree, episode: Episode, time: int, *, trail: bool) -> None:
        """The robot; with `trail`, paler ones at earlier moments."""
        time = min(time, len(episode.states) - 1)
        moments = np.linspace(0, time, GHOSTS).astype(int) if trail else np.array([time])
        for count, moment in enumerate(moments, start=1):
            self._pose(axis, episode.states[moment], strength=count / len(moments))
        middles = [self._middle(episode.states[at]) for at in (0, time)]
        centre = sum(middles) / 2 if trail else middles[1]
        half = max(HALF_WIDTH, abs(middles[1] - middles[0]) / 2 + ROBOT) if trail else HALF_WIDTH
        axis.set_xlim(centre - half, centre + half)
        axis.set_ylim(-0.4, 1.3)
        axis.axhline(0.0, color="grey", lw=0.8, zorder=0)
        axis.set_xticks(np.arange(np.ceil(centre - half), centre + half))
        axis.set_yticks([])
        axis.set_aspect("equal")

    def _middle(self, positions: Float[np.ndarray, " position"]) -> float:
        self._place(positions)
        return float(self.data.xpos[self.torso, 0])

    def _place(self, positions: Float[np.ndarray, " position"]) -> None:
        self.data.qpos[:] = positions
        self.mujoco.mj_kinematics(self.model, self.data)

    def _pose(self, axis: Any, positions: Float[np.ndarray, " position"], *, strength: float) -> None:
        self._place(positions)
        # What is further away is drawn first.
        for shape in sorted(self.shapes, key=lambda at: -self.data.geom_xpos[at, 1]):
            radius, half_length = self.model.geom_size[shape, :2]
            round_one = self.model.geom_type[shape] == self.mujoco.mjtGeom.mjGEOM_SPHERE
            # A capsule lies along the third axis of its frame.
            along = self.data.geom_xmat[shape].reshape(3, 3)[:, 2] * (0 if round_one else half_length)
            ends = self.data.geom_xpos[shape] + np.stack([-along, along])
            axis.fill(
                *capsule(ends[:, [0, 2]] + ends[:, 1:2] * np.array([OBLIQUE]), radius).T,
                facecolor="#e0a060",
                edgecolor="#604020",
                lw=0.6,
                alpha=0.15 + 0.85 * strength**2,
            )


def capsule(ends: Float[np.ndarray, "2 2"], radius: float) -> Float[np.ndarray, "point 2"]:
    """The outline of all that is within `radius` of the line between two points."""
    angle = np.arctan2(*(ends[1] - ends[0])[::-1])
    turns = np.linspace(-np.pi / 2, np.pi / 2, 9)
    around = np.concatenate([turns + angle, turns + angle + np.pi])
    centres = np.repeat(ends[::-1], len(turns), axis=0)
    return centres + radius * np.stack([np.cos(around), np.sin(around)], axis=1)
