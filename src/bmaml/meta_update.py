"""Many meta-updates as one compiled loop, for one seed or several."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax.sharding import Mesh
from jaxtyping import Array, Bool, Float, Int, Key, PyTree

from bmaml.learner import Learner
from bmaml.scale.gradient import loss_and_gradient
from bmaml.scale.mesh import everywhere, here, replicate
from bmaml.scale.processes import noticing_loss
from bmaml.tasks.source import TaskSource
from bmaml.training_state import UPDATE, State, keys_of

# From a state to the state at a step, or to the last good one before it; and which seeds are well.
Advance = Callable[[State, int], tuple[State, Bool[Array, " seeds"]]]


def compile_updates(
    learner: Learner,
    tasks: TaskSource,
    state: State,
    *,
    training_sets: Sequence[Any],
    seeds: Sequence[int],
    batch_size: int,
    steps: int,
    mesh: Mesh | None = None,
    tasks_at_once: int | None = None,
) -> Advance:
    """Compile the meta-update and the loop around it; the loop's length is free.

    The returned function takes the memory of the state it is given. It stops where a loss or a
    gradient is not finite and returns the state before that update. How the tasks of an update are
    divided by `mesh` and `tasks_at_once`, says `loss_and_gradient`.
    """
    optimizer = learner.optimizer.build(steps)
    differentiate = loss_and_gradient(learner, mesh=mesh, tasks_at_once=tasks_at_once)

    def update(
        particles: PyTree,
        optimizer_state: PyTree,
        training_set: Any,
        key: Key[Array, ""],
        step: Int[Array, ""],
    ) -> tuple[PyTree, PyTree, Float[Array, ""], Bool[Array, ""]]:
        batch_key, loss_key = jax.random.split(jax.random.fold_in(key, step))
        batch = tasks.batch(training_set, batch_key, batch_size)
        loss, gradient = differentiate(particles, batch, jax.random.split(loss_key, batch_size))
        # Optax raises floats to integer powers, which a program with strict types may forbid.
        with jax.numpy_dtype_promotion("standard"):
            change, optimizer_state = optimizer.update(gradient, optimizer_state, particles)
        particles = optax.apply_updates(particles, change)
        # The optimizer's state too: a gradient whose square overflows leaves the particles in place
        # and stops them for good.
        finite = _all_finite((loss, particles, optimizer_state))
        return particles, optimizer_state, loss, finite

    training_set, set_axes = _stack(training_sets)
    updates = over_seeds(update, (0, 0, set_axes, 0, None), len(seeds))

    # Seeds enter as an argument: the program is the same for all, and a cache of compiled programs
    # finds it again. As plain numbers, which can be placed on any device of any process.
    key_data = jax.random.key_data(keys_of(seeds, UPDATE))

    def advance(
        state: State, training_set: Any, key_data: Array, end: Int[Array, ""]
    ) -> tuple[State, Bool[Array, " seeds"]]:
        keys = jax.random.wrap_key_data(key_data)

        def goes_on(carry: tuple[State, Bool[Array, " seeds"]]) -> Bool[Array, ""]:
            state, finite = carry
            return (state.step < end) & jnp.all(finite)

        def body(
            carry: tuple[State, Bool[Array, " seeds"]],
        ) -> tuple[State, Bool[Array, " seeds"]]:
            old, _ = carry
            particles, optimizer_state, loss, finite = updates(
                old.particles, old.optimizer_state, training_set, keys, old.step
            )
            new = State(particles, optimizer_state, old.step + 1, old.loss_total + loss)
            well = jnp.all(finite)
            return jax.tree.map(lambda one, other: jnp.where(well, one, other), new, old), finite

        return jax.lax.while_loop(goes_on, body, (state, jnp.ones(len(seeds), bool)))

    zero = jnp.asarray(0, jnp.int32)
    if mesh is None:
        compiled = (
            jax.jit(advance, donate_argnums=0).lower(state, training_set, key_data, zero).compile()
        )
        return lambda state, end: compiled(state, training_set, key_data, jnp.asarray(end, jnp.int32))
    placed = replicate((training_set, key_data), mesh)
    spread = (
        jax.jit(
            advance,
            donate_argnums=0,
            in_shardings=everywhere(mesh),
            out_shardings=everywhere(mesh),
        )
        .lower(state, *placed, zero)
        .compile()
    )

    def advance_everywhere(state: State, end: int) -> tuple[State, Bool[Array, " seeds"]]:
        with noticing_loss():
            now, goal = replicate((state, jnp.asarray(end, jnp.int32)), mesh)
            return jax.block_until_ready(here(spread(now, *placed, goal)))

    return advance_everywhere


def over_seeds(
    function: Callable[..., PyTree], in_axes: tuple[PyTree, ...], count: int
) -> Callable[..., PyTree]:
    """`vmap` over `count` seeds; a single one is not batched, since batched products are slower."""
    if count > 1:
        return jax.vmap(function, in_axes)

    def alone(*arguments: PyTree) -> PyTree:
        parts = [
            jax.tree.map(_first, axes, argument, is_leaf=lambda axis: axis is None)
            for argument, axes in zip(arguments, in_axes, strict=True)
        ]
        return jax.tree.map(lambda leaf: leaf[None], function(*parts))

    return alone


def _first(axis: int | None, part: PyTree) -> PyTree:
    return part if axis is None else jax.tree.map(lambda leaf: leaf[0], part)


def _stack(training_sets: Sequence[Any]) -> tuple[PyTree, PyTree]:
    """All seeds' training sets as one, and its axes of seeds.

    An array that all seeds have in common, such as the images of a data set, stays one and has None
    for an axis: data is not copied.
    """
    first = training_sets[0]
    structure = jax.tree.structure(first)
    leaves, axes = [], []
    for parts in zip(*map(jax.tree.leaves, training_sets), strict=True):
        common = all(part is parts[0] for part in parts)
        leaves.append(jnp.asarray(parts[0]) if common else jnp.stack(parts))
        axes.append(None if common else 0)
    if None not in axes:
        return jax.tree.unflatten(structure, leaves), 0
    return jax.tree.unflatten(structure, leaves), jax.tree.unflatten(structure, axes)


def _all_finite(tree: PyTree) -> Bool[Array, ""]:
    """Whether no leaf has a NaN or an infinity."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(tree)]))
