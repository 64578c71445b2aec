"""Training past one device: tasks over devices, over processes and machines, and block after block."""

from bmaml.scale.mesh import task_mesh
from bmaml.scale.processes import Place, join, leave

__all__ = ["Place", "join", "leave", "task_mesh"]
