"""Training past one device: tasks over devices, over processes and machines, and block after block."""

from bmaml.scale.mesh import task_mesh
from bmaml.scale.processes import join, leave

__all__ = ["join", "leave", "task_mesh"]
