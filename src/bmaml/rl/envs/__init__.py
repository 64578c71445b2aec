"""Where episodes come from."""

from bmaml.rl.envs.environment import Environment, HostEnvironment, HostStep, Step, TaskEnvironment
from bmaml.rl.envs.locomotion import Locomotion
from bmaml.rl.envs.navigation import Navigation
from bmaml.rl.envs.registry import ENVIRONMENTS, make_environment
from bmaml.rl.envs.vector import VectorTasks

__all__ = [
    "ENVIRONMENTS",
    "Environment",
    "HostEnvironment",
    "HostStep",
    "Locomotion",
    "Navigation",
    "Step",
    "TaskEnvironment",
    "VectorTasks",
    "make_environment",
]
