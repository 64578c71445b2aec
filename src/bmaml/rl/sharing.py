"""Tasks shared out: each process plays its own, and all devices take part in the meta-update.

Every process holds the same particles and draws the same tasks. The noise of an episode depends on the
number of its task, so that it is the same whoever plays it.
"""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float, PyTree

from bmaml.errors import BmamlError
from bmaml.rl.meta import MetaBatch, Report
from bmaml.rl.policy import GaussianPolicy
from bmaml.rl.presets import Method
from bmaml.scale.mesh import here, replicate
from bmaml.scale.processes import noticing_loss

# From particles, the meta-update's state and what this process played to new ones and a report.
Update = Callable[[PyTree, PyTree, MetaBatch], tuple[PyTree, PyTree, Report]]


def own_tasks(count: int) -> slice:
    """Which of `count` tasks this process plays: all of them if they cannot be shared out evenly."""
    share, left = divmod(count, jax.process_count())
    if left:
        return slice(0, count)
    return slice(jax.process_index() * share, (jax.process_index() + 1) * share)


def returns_of_all(
    returns: Float[Array, "steps own particle"], count: int
) -> Float[Array, "steps task particle"]:
    """The returns of `count` tasks, from those that each process played."""
    if returns.shape[1] == count:
        return returns
    with noticing_loss():
        gathered = np.asarray(multihost_utils.process_allgather(returns))
    return jnp.asarray(np.concatenate(list(gathered), axis=1))


def make_update(policy: GaussianPolicy, method: Method, tasks: int, mesh: Mesh | None) -> Update:
    """The meta-update on `tasks` tasks, shared out evenly over the devices of the mesh."""
    update = partial(method.meta.update, policy, method.inner)
    if mesh is None:
        return jax.jit(update)
    if tasks % mesh.size:
        raise BmamlError(
            f"{tasks} tasks a meta-update cannot be shared out evenly over {mesh.size} devices: "
            "choose a number of tasks that is a multiple of the devices."
        )
    return _SharedUpdate(update, mesh)


class _SharedUpdate:
    """The same step on every device, from means over the tasks of all."""

    def __init__(self, update: Callable[..., tuple[PyTree, PyTree, Report]], mesh: Mesh):
        self.mesh = mesh
        (axis,) = mesh.axis_names
        whole, shares = PartitionSpec(), PartitionSpec(axis)
        self.shares = NamedSharding(mesh, shares)
        # Unchecked, since the check would also sum gradients by itself, a second time.
        self.spread = jax.jit(
            jax.shard_map(
                partial(update, average=lambda mean: jax.lax.pmean(mean, axis)),
                mesh=mesh,
                in_specs=(whole, whole, shares),
                out_specs=whole,
                check_vma=False,
            )
        )

    def __call__(
        self, particles: PyTree, state: PyTree, batch: MetaBatch
    ) -> tuple[PyTree, PyTree, Report]:
        placed = replicate((particles, state), self.mesh)
        rows = jax.tree.map(
            lambda leaf: jax.make_array_from_process_local_data(self.shares, np.asarray(leaf)), batch
        )
        with noticing_loss():
            return jax.block_until_ready(here(self.spread(*placed, rows)))
