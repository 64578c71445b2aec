"""Cheetah and ant, to run at a velocity or in a direction, on batches of MuJoCo simulations.

`physics="gymnasium"` is that of HalfCheetah-v5 and Ant-v5: five physics steps for each action, their
observations (but contact forces are those at the new state) and resets; the state follows theirs bit
for bit. `physics="authors"` is that of the
paper's code: one physics step, its observations, resets and model. Rewards and ends are those of the
paper in both, and use velocity and contact forces at the new state.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from bmaml.errors import BmamlError, SimulationError
from bmaml.rl.envs.environment import NAN_ACTION, HostEnvironment, HostStep
from bmaml.rl.envs.robots import (
    ROBOTS,
    import_mujoco,
    initial_positions,
    load_model,
    without_warnings,
)

SUBSTEPS = {"authors": 1, "gymnasium": 5}
# Standard deviation of the positions for the authors, half-width of a uniform in Gymnasium.
POSITION_NOISE = {"authors": 0.01, "gymnasium": 0.1}
VELOCITY_NOISE = 0.1


class Locomotion(HostEnvironment):
    """One robot with one kind of goal.

    Arguments:
        robot: "cheetah" or "ant".
        goal: "velocity" or "direction"; a task is the goal velocity, or -1 or +1.
        physics: "authors" or "gymnasium".
        threads: that simulate; None is one for each core. Results do not depend on it.
        horizon: steps of an episode.
    """

    def __init__(
        self,
        robot: str,
        goal: str,
        *,
        physics: str = "authors",
        threads: int | None = None,
        horizon: int = 200,
    ):
        if robot not in ROBOTS or goal not in ("velocity", "direction"):
            raise BmamlError(
                f"Unknown task {robot}-{goal}: use cheetah or ant, with velocity or direction."
            )
        if physics not in SUBSTEPS:
            raise BmamlError(f"Unknown physics {physics!r}: use 'authors' or 'gymnasium'.")
        self.mujoco = import_mujoco()
        self.robot, self.goal, self.physics, self.horizon = ROBOTS[robot], goal, physics, horizon
        self.threads = threads
        self.model = load_model(robot, physics)
        self.start = initial_positions(self.model, robot, physics)
        self.action_size = self.model.nu
        stages = self.mujoco.mjtStage
        self.stage = int(stages.mjSTAGE_ACC if self.robot.contact_cost > 0 else stages.mjSTAGE_VEL)
        kinds = self.mujoco.mjtWarning
        bad = (kinds.mjWARN_BADQPOS, kinds.mjWARN_BADQVEL, kinds.mjWARN_BADQACC, kinds.mjWARN_BADCTRL)
        self.unstable = [int(kind) for kind in bad]
        self.torso = self.model.body("torso").id
        self.batch: Any = None
        self.draw_noise = self._noise()
        self._open(1)
        self.observation_size = self.observe().shape[1]

    def describe(self) -> dict[str, Any]:
        """Its kind and numbers, with the robot."""
        told = {"robot": self.robot.file, "goal": self.goal, "physics": self.physics}
        return {**super().describe(), **told}

    def draw_task(self, key: Key[Array, ""]) -> Float[Array, ""]:
        """A goal velocity, or a direction."""
        if self.goal == "velocity":
            return jax.random.uniform(key, (), minval=0.0, maxval=self.robot.fastest_goal)
        return jnp.where(jax.random.bernoulli(key), 1.0, -1.0)

    def reset(
        self, tasks: PyTree, keys: Key[Array, " episode"]
    ) -> Float[np.ndarray, "episode observation"]:
        """Stand still, but for some noise."""
        positions, velocities = self.draw_noise(keys)
        return self.reset_to(
            tasks, self.start + np.asarray(positions, np.float64), np.asarray(velocities, np.float64)
        )

    def reset_to(
        self,
        tasks: PyTree,
        positions: Float[np.ndarray, "episode position"],
        velocities: Float[np.ndarray, "episode velocity"],
    ) -> Float[np.ndarray, "episode observation"]:
        """Begin in the given states."""
        self.tasks = np.asarray(tasks, np.float64)
        self._open(len(positions))
        self.batch.reset(stage=int(self.mujoco.mjtStage.mjSTAGE_NONE))
        self.positions[:] = positions
        self.velocities[:] = velocities
        self.batch.forward()
        return self.observe()

    def step(
        self,
        actions: Float[np.ndarray, "episode action"],
        active: Bool[np.ndarray, " episode"],
    ) -> HostStep:
        """Simulate the active episodes."""
        if not np.all(np.isfinite(actions[active])):
            raise SimulationError(NAN_ACTION)
        actions = np.clip(np.asarray(actions, np.float64), -1.0, 1.0)
        if active.all():
            ids, self.controls[:] = None, actions
        else:
            ids, self.controls[active] = np.flatnonzero(active).astype(np.int32), actions[active]
        with without_warnings(self.mujoco):  # What went wrong is told below.
            self.batch.step(ids, nstep=SUBSTEPS[self.physics], stage=self.stage)
        if np.any(self.batch.warning[:, self.unstable][active]):
            raise SimulationError(
                "MuJoCo met NaN in an unstable simulation: the policies' actions are too violent for "
                "it; use a smaller step size or fewer inner steps."
            )
        forces = self._bounded_forces()
        return HostStep(self._observations(forces), self._rewards(actions, forces), self._ended())

    def observe(self) -> Float[np.ndarray, "episode observation"]:
        """What the policy sees; a copy."""
        return self._observations(self._bounded_forces())

    def _bounded_forces(self) -> Float[np.ndarray, "episode body 6"] | None:
        """What contacts do to the bodies, within ±1; None for a robot whose tasks do not ask."""
        return np.clip(self.forces, -1.0, 1.0) if self.robot.contact_cost > 0 else None

    def _observations(
        self, forces: Float[np.ndarray, "episode body 6"] | None
    ) -> Float[np.ndarray, "episode observation"]:
        count = len(self.positions)
        if self.physics == "gymnasium":
            parts = [self.positions[:, self.robot.hidden :], self.velocities]
            if forces is not None:
                parts.append(forces[:, 1:].reshape(count, -1))
        elif forces is not None:
            rotation = self.rotations[:, self.torso].reshape(count, -1)
            centre = self.centres[:, self.torso]
            parts = [self.positions, self.velocities, forces.reshape(count, -1), rotation, centre]
        else:
            parts = [self.positions[:, 1:], self.velocities, self.centres[:, self.torso]]
        return np.concatenate(parts, axis=1)

    def close(self) -> None:
        """Let go of the simulations."""
        self.batch = None

    def _rewards(
        self,
        actions: Float[np.ndarray, "episode action"],
        forces: Float[np.ndarray, "episode body 6"] | None,
    ) -> Float[np.ndarray, " episode"]:
        speed = self.sensors[:, 0]
        robot = self.robot
        rewards = robot.bonus - robot.control_cost * np.sum(np.square(actions), axis=1)
        if forces is not None:
            effort = np.sum(np.square(forces.reshape(len(speed), -1)), axis=1)
            rewards = rewards - robot.contact_cost * effort
        if self.goal == "direction":
            return rewards + self.tasks * speed
        return rewards + robot.velocity_bonus - np.abs(speed - self.tasks)

    def _ended(self) -> Bool[np.ndarray, " episode"]:
        if self.robot.heights is None:
            return np.zeros(len(self.positions), bool)
        low, high = self.robot.heights
        height = self.positions[:, 2]
        return ~((height >= low) & (height <= high))

    def _open(self, count: int) -> None:
        """A batch of `count` simulations and live views of it."""
        if self.batch is not None and self.batch.nsim == count:
            return
        self.batch = self.mujoco.batch.Batch(self.model, count, self.threads or 0)
        self.positions, self.velocities = self.batch.bind("qpos"), self.batch.bind("qvel")
        self.controls, self.sensors = self.batch.bind("ctrl"), self.batch.bind("sensordata")
        self.forces = self.batch.bind("cfrc_ext")
        self.centres, self.rotations = self.batch.bind("subtree_com"), self.batch.bind("xmat")

    def _noise(self) -> Callable[[Key[Array, " episode"]], tuple[Array, Array]]:
        size, speeds = len(self.start), self.model.nv
        scale, uniform = POSITION_NOISE[self.physics], self.physics == "gymnasium"

        def one(key: Key[Array, ""]) -> tuple[Array, Array]:
            position_key, velocity_key = jax.random.split(key)
            if uniform:
                positions = jax.random.uniform(position_key, (size,), minval=-scale, maxval=scale)
            else:
                positions = scale * jax.random.normal(position_key, (size,))
            return positions, VELOCITY_NOISE * jax.random.normal(velocity_key, (speeds,))

        return jax.jit(jax.vmap(one))
