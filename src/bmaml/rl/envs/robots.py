"""The paper's two robots: their models, what a policy sees of them, and how an episode begins."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from bmaml.errors import BmamlError


@dataclass(frozen=True)
class Robot:
    """What sets one robot's tasks apart.

    Arguments:
        file: the model, as it comes with Gymnasium.
        hidden: leading positions that Gymnasium's observations leave out.
        fastest_goal: goal velocities are drawn from U[0, this].
        control_cost: times the squared action.
        contact_cost: times the squared contact forces, clipped to ±1; zero leaves them out of sight.
        bonus: for every step, in both goals.
        velocity_bonus: for every step, where the goal is a velocity.
        heights: the torso's, beyond which an episode ends; None never ends one.
    """

    file: str
    hidden: int
    fastest_goal: float
    control_cost: float
    contact_cost: float = 0.0
    bonus: float = 0.0
    velocity_bonus: float = 0.0
    heights: tuple[float, float] | None = None


ROBOTS = {
    "cheetah": Robot("half_cheetah.xml", hidden=1, fastest_goal=2.0, control_cost=0.05),
    "ant": Robot(
        "ant.xml",
        hidden=2,
        fastest_goal=3.0,
        control_cost=0.005,
        contact_cost=0.0005,
        bonus=0.05,
        velocity_bonus=1.0,
        heights=(0.2, 1.0),
    ),
}


def import_mujoco() -> Any:
    """MuJoCo with its batches, or a sentence on how to get it."""
    try:
        import gymnasium  # noqa: F401 - the robots' models come with it.
        import mujoco
        import mujoco.batch
    except ImportError as error:
        raise BmamlError(
            "Cheetah and ant need MuJoCo 3.17 and Gymnasium: run pip install '.[rl]' in bmaml's folder."
        ) from error
    return mujoco


@contextmanager
def without_warnings(mujoco: Any) -> Iterator[None]:
    """Keep MuJoCo from printing a warning for every simulation, and from writing a log of them."""
    before = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda message: None)
    try:
        yield
    finally:
        mujoco.set_mju_user_warning(before)


def load_model(robot: str, physics: str) -> Any:
    """The compiled model, with the sensor that rewards read and one that has forces computed."""
    mujoco = import_mujoco()
    import gymnasium

    folder = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
    spec = mujoco.MjSpec.from_file(str(folder / ROBOTS[robot].file))
    torso = {"objtype": mujoco.mjtObj.mjOBJ_BODY, "objname": "torso"}
    spec.add_sensor(name="velocity", type=mujoco.mjtSensor.mjSENS_SUBTREELINVEL, **torso)
    if ROBOTS[robot].contact_cost > 0:
        # MuJoCo computes contact forces on bodies only where a sensor asks for accelerations.
        spec.add_sensor(name="forces", type=mujoco.mjtSensor.mjSENS_FRAMELINACC, **torso)
    # The cheetah's file sets its mass in a way that MuJoCo complains of, into a file where it runs.
    mass, spec.compiler.settotalmass = spec.compiler.settotalmass, -1.0
    model = spec.compile()
    if mass > 0:
        mujoco.mj_setTotalmass(model, mass)
        mujoco.mj_setConst(model, mujoco.MjData(model))
    if robot == "ant" and physics == "authors":
        # What sets the original model apart; its motors differ only in the units of their controls.
        model.opt.timestep = 0.02
        model.geom_solref[:] = (0.02, 1.0)
        model.geom_solimp[:, :3] = (0.8, 0.8, 0.01)
    return model


def initial_positions(model: Any, robot: str, physics: str) -> Float[np.ndarray, " position"]:
    """Where an episode begins, before noise."""
    if robot == "ant" and physics == "authors":
        return np.array(model.numeric("init_qpos").data)
    return np.array(model.qpos0)
