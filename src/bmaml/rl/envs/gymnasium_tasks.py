"""The tasks as Gymnasium environments, for use with other libraries.

Importing this module registers them, and so does a name with the module before it:
`gymnasium.make("bmaml.rl.envs.gymnasium_tasks:bmaml/AntVelocity-v0")`.
"""

from typing import Any

import gymnasium
import jax
import numpy as np

from bmaml.rl.envs.locomotion import Locomotion


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
        self.fixed, self.render_mode = task, render_mode
        size = self.tasks.observation_size
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float64)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (self.tasks.action_size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode."""
        super().reset(seed=seed)
        key = jax.random.key(int(self.np_random.integers(2**31)))
        task_key, reset_key = jax.random.split(key)
        named = (options or {}).get("task", self.fixed)
        task = float(self.tasks.draw_task(task_key)) if named is None else float(named)
        observations = self.tasks.reset(np.array([task]), reset_key[None])
        return observations[0], {"task": task}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """One action; the time limit is Gymnasium's."""
        actions = np.asarray(action, np.float32)[None]
        observations, rewards, ended = self.tasks.step(actions, np.ones(1, bool))
        info = {"task": float(self.tasks.tasks[0]), "x_velocity": float(self.tasks.sensors[0, 0])}
        return observations[0], float(rewards[0]), bool(ended[0]), False, info

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
