"""The tasks as Gymnasium environments, for use with other libraries.

Importing this module registers them, and so does a name with the module before it:
`gymnasium.make("bmaml.rl.envs.gymnasium_tasks:bmaml/AntVelocity-v0")`.
"""

from typing import Any

import gymnasium
import numpy as np

from bmaml.errors import BmamlError
from bmaml.rl.envs.locomotion import POSITION_NOISE, VELOCITY_NOISE, Locomotion


class LocomotionTask(gymnasium.Env):
    """One robot with one goal.

    Arguments:
        robot: "cheetah" or "ant".
        goal: "velocity" or "direction".
        physics: "gymnasium" or "authors".
        task: the goal velocity or the direction, -1 or +1; None draws one at every reset, unless
            `reset(options={"task": ...})` names it.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 - as Gymnasium declares it.

    def __init__(
        self,
        robot: str,
        goal: str,
        *,
        physics: str = "gymnasium",
        task: float | None = None,
        render_mode: None = None,
    ):
        self.tasks = Locomotion(robot, goal, physics=physics, threads=1)
        self.fixed = None if task is None else self._checked(task)
        self.render_mode = render_mode
        size = self.tasks.observation_size
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.tasks.action_size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        named = (options or {}).get("task", self.fixed)
        task = self._draw() if named is None else self._checked(named)
        tasks, noise = self.tasks, POSITION_NOISE[self.tasks.physics]
        # With Gymnasium's generator, not JAX, which hangs in a process that was forked after its use.
        if tasks.physics == "gymnasium":
            moved = self.np_random.uniform(-noise, noise, tasks.start.shape)
        else:
            moved = noise * self.np_random.standard_normal(tasks.start.shape)
        velocities = VELOCITY_NOISE * self.np_random.standard_normal(tasks.model.nv)
        observations = tasks.reset_to(np.array([task]), (tasks.start + moved)[None], velocities[None])
        return observations[0], {"task": task}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One action; the time limit is Gymnasium's."""
        actions = np.asarray(action, np.float32)[None]
        observations, rewards, ended = self.tasks.step(actions, np.ones(1, bool))
        info = {"task": float(self.tasks.tasks[0]), "x_velocity": float(self.tasks.sensors[0, 0])}
        return observations[0], float(rewards[0]), bool(ended[0]), False, info

    def _draw(self) -> float:
        """A goal of the paper's distribution."""
        if self.tasks.goal == "velocity":
            return float(self.np_random.uniform(0.0, self.tasks.robot.fastest_goal))
        return float(self.np_random.choice([-1.0, 1.0]))

    def _checked(self, task: Any) -> float:
        """The task that was named, if there is such a one."""
        number = isinstance(task, int | float | np.number)
        if self.tasks.goal == "direction" and not (number and task in (-1, 1)):
            raise BmamlError(f"task is {task!r}; a direction is -1 or 1.")
        if not (number and np.isfinite(task)):
            raise BmamlError(f"task is {task!r}; a velocity is a finite number.")
        return float(task)

    def close(self) -> None:
        """Let go of the simulation."""
        self.tasks.close()


for _robot in ("cheetah", "ant"):
    for _goal in ("velocity", "direction"):
        gymnasium.register(
            id=f"bmaml/{_robot.capitalize()}{_goal.capitalize()}-v0",
            entry_point="bmaml.rl.envs.gymnasium_tasks:LocomotionTask",
            max_episode_steps=200,
            kwargs={"robot": _robot, "goal": _goal},
        )
