"""The devices that share the tasks of a meta-update, and arrays that each of them holds whole."""

import os
from collections.abc import Callable
from contextlib import suppress
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


def device_for_each_core(batch_size: int) -> int | None:
    """Divide the processor into a device for each core; how many of them can share a batch evenly.

    XLA keeps little more than one core busy with convolutions, however many there are; tasks on devices
    of their own keep all of them busy. None, one device, if there is an accelerator. Whoever has set
    `JAX_NUM_CPU_DEVICES`, or used JAX for anything before this, keeps the devices that there are.
    """
    # Those that this process may use, where the system tells.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if jax.config.jax_num_cpu_devices < 0:  # type: ignore[attr-defined]
        with suppress(RuntimeError):
            jax.config.update("jax_num_cpu_devices", cores)
    if jax.default_backend() != "cpu":
        return None
    return largest_divisor(batch_size, jax.local_device_count())


def largest_divisor(number: int, limit: int) -> int:
    """The largest number up to the limit that divides evenly.

    >>> [largest_divisor(16, limit) for limit in (1, 2, 3, 64)]
    [1, 2, 2, 16]
    """
    return max(each for each in range(1, min(number, limit) + 1) if number % each == 0)


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


def over_tasks(function: Callable[..., PyTree], mesh: Mesh) -> Callable[..., PyTree]:
    """A function whose last argument and result have an axis of tasks; every device takes a share.

    Tasks that cannot be shared out evenly are filled up with the first ones, which are left out of the
    result again.
    """
    (axis,) = mesh.axis_names

    def shared(*arguments: PyTree) -> PyTree:
        *common, tasks = arguments
        count = jax.tree.leaves(tasks)[0].shape[0]
        numbers = np.arange(-(-count // mesh.size) * mesh.size) % count
        specs = (*(PartitionSpec() for _ in common), PartitionSpec(axis))
        share = jax.shard_map(
            function, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(axis), check_vma=False
        )
        result = share(*common, jax.tree.map(lambda leaf: leaf[numbers], tasks))
        return jax.tree.map(lambda leaf: leaf[:count], result)

    return shared
