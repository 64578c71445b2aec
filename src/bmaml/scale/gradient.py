"""The meta-gradient of many tasks: shared out over devices, and block after block on each."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, PartitionSpec
from jaxtyping import Array, Float, Key, PyTree

from bmaml.learner import Learner
from bmaml.tasks.task import Task

# From particles, stacked tasks and a key for each of them to the summed loss and its gradient.
LossAndGradient = Callable[[PyTree, Task, Key[Array, " tasks"]], tuple[Float[Array, ""], PyTree]]


def loss_and_gradient(
    learner: Learner, *, mesh: Mesh | None = None, tasks_at_once: int | None = None
) -> LossAndGradient:
    """The learner's meta-loss and its gradient, with the same result however the work is divided.

    Equal up to the order in which floats are summed. Within one device the sum over tasks is one
    product; over blocks and devices it is a sum of such sums.

    Arguments:
        learner: what to train.
        mesh: each device takes an equal share of the tasks; see `task_mesh`.
        tasks_at_once: of so many tasks at a time a device keeps what the gradient needs. Memory grows
            with them, not with the batch.
    """

    def whole(
        particles: PyTree, tasks: Task, keys: Key[Array, " tasks"]
    ) -> tuple[Float[Array, ""], PyTree]:
        return jax.value_and_grad(learner.meta_loss)(particles, tasks, key=keys)

    divided = whole if tasks_at_once is None else in_blocks(whole, tasks_at_once)
    return divided if mesh is None else over_devices(divided, mesh)


def in_blocks(function: LossAndGradient, size: int) -> LossAndGradient:
    """The same sum, `size` tasks after each other; what is left over comes last."""
    if size < 1:
        raise ValueError(f"tasks_at_once is {size}; it must be at least 1.")

    def summed(
        particles: PyTree, tasks: Task, keys: Key[Array, " tasks"]
    ) -> tuple[Float[Array, ""], PyTree]:
        count, rows = divmod(keys.shape[0], size)
        if count == 0 or keys.shape[0] == size:
            return function(particles, tasks, keys)
        work = (tasks, keys)
        blocks = jax.tree.map(
            lambda leaf: leaf[: count * size].reshape(count, size, *leaf.shape[1:]), work
        )

        def add(total: PyTree, block: PyTree) -> tuple[PyTree, None]:
            return jax.tree.map(jnp.add, total, function(particles, *block)), None

        first = jax.tree.map(lambda leaf: leaf[0], blocks)
        zero = jax.tree.map(jnp.zeros_like, jax.eval_shape(function, particles, *first))
        total, _ = jax.lax.scan(add, zero, blocks)
        if rows:
            rest = jax.tree.map(lambda leaf: leaf[count * size :], work)
            total, _ = add(total, rest)
        return total

    return summed


def over_devices(function: LossAndGradient, mesh: Mesh) -> LossAndGradient:
    """The same sum, an equal share of the tasks on every device of the mesh."""
    (axis,) = mesh.axis_names

    def shared(
        particles: PyTree, tasks: Task, keys: Key[Array, " tasks"]
    ) -> tuple[Float[Array, ""], PyTree]:
        if keys.shape[0] % mesh.size:
            raise ValueError(
                f"{keys.shape[0]} tasks a meta-update cannot be shared out evenly over {mesh.size} "
                "devices: choose a batch size that is a multiple of the devices."
            )

        def share(
            particles: PyTree, tasks: Task, keys: Key[Array, " tasks"]
        ) -> tuple[Float[Array, ""], PyTree]:
            return jax.lax.psum(function(particles, tasks, keys), axis)

        # Unchecked, since the check would also sum gradients by itself, a second time.
        return jax.shard_map(
            share,
            mesh=mesh,
            in_specs=(PartitionSpec(), PartitionSpec(axis), PartitionSpec(axis)),
            out_specs=PartitionSpec(),
            check_vma=False,
        )(particles, tasks, keys)

    return shared
