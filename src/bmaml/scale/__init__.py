"""Training past one device: tasks over devices, over processes and machines, and block after block."""

from bmaml.scale.mesh import device_for_each_core, task_mesh
from bmaml.scale.processes import Place, join, leave

__all__ = ["Place", "device_for_each_core", "join", "leave", "task_mesh"]
