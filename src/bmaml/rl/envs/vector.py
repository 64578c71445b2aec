"""Any Gymnasium vector environment, with a function that draws tasks."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key, PyTree

from bmaml.errors import BmamlError, SimulationError
from bmaml.rl.envs.environment import NAN_ACTION, HostEnvironment, HostStep


class VectorTasks(HostEnvironment):
    """Tasks played in a vector environment of yours.

    ```python
    tasks = VectorTasks(
        lambda count: gymnasium.make_vec("MyEnv-v0", num_envs=count),
        draw_task=lambda key: jax.random.uniform(key, (), minval=0.0, maxval=2.0),
        set_tasks=lambda environment, goals: environment.set_attr("goal", list(goals)),
        horizon=100,
    )
    ```

    Arguments:
        make: makes a vector environment of so many copies.
        draw_task: one task from a key.
        set_tasks: tells the copies their tasks (a NumPy tree with a leading axis) before a reset; None
            hands them over as `reset(options={"tasks": ...})`.
        horizon: steps of an episode.
    """

    def __init__(
        self,
        make: Callable[[int], Any],
        draw_task: Callable[[Key[Array, ""]], PyTree],
        *,
        horizon: int,
        set_tasks: Callable[[Any, PyTree], None] | None = None,
    ):
        if horizon < 1:
            raise BmamlError(f"horizon is {horizon}; an episode has at least 1 step.")
        self.make, self.draw, self.set_tasks, self.horizon = make, draw_task, set_tasks, horizon
        self.environment = make(1)
        if not hasattr(self.environment, "single_action_space"):
            raise BmamlError(
                f"`make` made a {type(self.environment).__name__}, which is no vector environment: let "
                "it return gymnasium.make_vec(…) or gymnasium.vector.SyncVectorEnv([…])."
            )
        self._require_autoreset()
        seen = self.environment.single_observation_space
        moves = self.environment.single_action_space
        _require_box("observations", seen)
        _require_box("actions", moves)
        if not np.issubdtype(moves.dtype, np.floating):
            raise BmamlError(
                f"The environment's actions are whole numbers ({moves.dtype}), and a Gaussian policy's "
                "are not: wrap it to take others."
            )
        if not (np.all(np.isfinite(moves.low)) and np.all(np.isfinite(moves.high))):
            raise BmamlError("The environment's actions have no bounds: wrap it to give them some.")
        self.low, self.high, self.action_type = moves.low, moves.high, moves.dtype
        self.observation_size, self.action_size = seen.shape[0], moves.shape[0]

    def draw_task(self, key: Key[Array, ""]) -> PyTree:
        """One task."""
        return self.draw(key)

    def reset(
        self, tasks: PyTree, keys: Key[Array, " episode"]
    ) -> Float[np.ndarray, "episode observation"]:
        """Begin an episode in every copy; its seed comes from its key."""
        count = keys.shape[0]
        if self.environment.num_envs != count:
            self.environment.close()
            self.environment = self.make(count)
            if self.environment.num_envs != count:
                raise BmamlError(
                    f"`make({count})` made a vector environment of {self.environment.num_envs} "
                    "copies: make as many as asked for."
                )
        seeds = np.asarray(jax.vmap(lambda key: jax.random.randint(key, (), 0, 2**31 - 1))(keys))
        options = {"tasks": tasks}
        if self.set_tasks is not None:
            self.set_tasks(self.environment, tasks)
            options = {}
        observations, _ = self.environment.reset(seed=seeds.tolist(), options=options)
        return np.asarray(observations, np.float64)

    def step(
        self,
        actions: Float[np.ndarray, "episode action"],
        active: Bool[np.ndarray, " episode"],
    ) -> HostStep:
        """Step all copies; what those do that are over is not looked at."""
        if not np.all(np.isfinite(actions[active])):
            raise SimulationError(NAN_ACTION)
        share = 0.5 * (np.clip(actions, -1.0, 1.0) + 1.0)
        moves = (self.low + share * (self.high - self.low)).astype(self.action_type)
        observations, rewards, terminated, truncated, _ = self.environment.step(moves)
        return HostStep(
            np.asarray(observations, np.float64),
            np.asarray(rewards, np.float64),
            np.asarray(terminated, bool) | np.asarray(truncated, bool),
        )

    def _require_autoreset(self) -> None:
        """Copies whose episode is over are stepped on until all are."""
        mode = (self.environment.metadata or {}).get("autoreset_mode")
        if getattr(mode, "name", None) == "DISABLED":
            raise BmamlError(
                "The vector environment does not begin anew by itself (AutoresetMode.DISABLED): make "
                "it with another autoreset mode."
            )

    def close(self) -> None:
        """Close the vector environment."""
        self.environment.close()


def _require_box(what: str, space: Any) -> None:
    """Only rows of real numbers fit a Gaussian policy around a network of rows."""
    shape = getattr(space, "shape", None)
    if type(space).__name__ != "Box" or shape is None or len(shape) != 1:
        raise BmamlError(
            f"The environment's {what} are {space}, but rows of numbers (a Box of one axis) are "
            "needed: wrap it to flatten them, or choose another environment."
        )
