"""The paper's environments by name."""

from bmaml.errors import BmamlError
from bmaml.rl.envs.environment import TaskEnvironment
from bmaml.rl.envs.navigation import Navigation

LOCOMOTION = ("cheetah-velocity", "cheetah-direction", "ant-velocity", "ant-direction")
ENVIRONMENTS = ("navigation", *LOCOMOTION)


def make_environment(
    name: str, *, settings: str = "paper", physics: str = "authors", threads: int | None = None
) -> TaskEnvironment:
    """An environment of the paper.

    Arguments:
        name: one of `ENVIRONMENTS`.
        settings: "paper" or "authors", which differ in the reward of navigation.
        physics: for locomotion, "authors" (one physics step for each action, their observations and
            resets) or "gymnasium" (those of HalfCheetah-v5 and Ant-v5).
        threads: for locomotion; None is one for each core.
    """
    if name == "navigation":
        return Navigation(reward=settings)
    if name in LOCOMOTION:
        from bmaml.rl.envs.locomotion import Locomotion

        robot, goal = name.split("-")
        return Locomotion(robot, goal, physics=physics, threads=threads)
    raise BmamlError(f"Unknown environment {name!r}: use one of {', '.join(ENVIRONMENTS)}.")
