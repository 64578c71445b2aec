"""The devices that share the tasks of a meta-update, and arrays that each of them holds whole."""

from typing import TypeVar

import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec
from jaxtyping import PyTree

Tree = TypeVar("Tree", bound=PyTree)


def task_mesh(devices: int | Mesh | None = None) -> Mesh | None:
    """A mesh of one axis, along which tasks are shared out; None means one device and no mesh.

    Arguments:
        devices: how many of this process, and as many of every other; or a mesh of your own with one
            axis. None is one device, or all of them where several processes train together.
    """
    if isinstance(devices, Mesh):
        if len(devices.axis_names) != 1:
            raise ValueError(
                f"The mesh has the axes {', '.join(map(str, devices.axis_names))}, but only tasks are "
                "shared out: give a mesh with one axis."
            )
        return devices
    available = jax.local_device_count()
    if devices is None and jax.process_count() > 1:
        devices = available
    if devices is None:
        return None
    if not 1 <= devices <= available:
        raise ValueError(
            f"{devices} devices were asked for, and this process has {available}: ask for fewer, or "
            f"start Python with JAX_NUM_CPU_DEVICES={devices} to divide the processor."
        )
    if devices == 1 and jax.process_count() == 1:
        return None
    chosen = [
        device
        for process in range(jax.process_count())
        for device in [d for d in jax.devices() if d.process_index == process][:devices]
    ]
    return Mesh(np.array(chosen), ("tasks",), axis_types=(AxisType.Auto,))


def everywhere(mesh: Mesh) -> NamedSharding:
    """The whole array on every device."""
    return NamedSharding(mesh, PartitionSpec())


def replicate(tree: Tree, mesh: Mesh) -> Tree:
    """Put arrays that this process holds on every device; all processes must hold the same."""
    sharding = everywhere(mesh)

    def place(leaf: jax.Array) -> jax.Array:
        whole = np.asarray(leaf)
        return jax.make_array_from_callback(whole.shape, sharding, lambda index: whole[index])

    return jax.tree.map(place, tree)


def here(tree: Tree) -> Tree:
    """What a device of this process holds of arrays that are everywhere; nothing is copied."""
    return jax.tree.map(lambda leaf: leaf.addressable_data(0), tree)
