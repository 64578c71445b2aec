"""A set of particles: any pytree whose leaves share a leading particle axis.

Nothing here knows what a particle is made of. Every function works leaf by leaf: flattening a set into
one matrix and slicing it again costs several times more once it is differentiated through.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PyTree

Tree = TypeVar("Tree")


class Shared(NamedTuple):
    """A set whose particles have one part in common.

    `own` is a set as everywhere else; `shared` has no particle axis. `statistics` is what the shared
    part remembers of a task that `own` was adapted to (nothing before adaptation).
    """

    shared: PyTree
    own: PyTree
    statistics: PyTree = ()


class Tuned(NamedTuple):
    """A set, and what the meta-update learns of the way it adapts.

    `particles` is a set as everywhere else, or `Shared`; `inner` is what `InnerUpdate.init` began
    with. A learner whose inner update learns nothing has its particles alone.
    """

    particles: PyTree
    inner: PyTree


def make(init: Callable[[Key[Array, ""]], Tree], key: Key[Array, ""], num_particles: int) -> Tree:
    """Draw `num_particles` particles independently with `init(key)` and stack them."""
    if num_particles < 1:
        raise ValueError(f"num_particles is {num_particles}; a particle set needs at least one.")
    return jax.vmap(init)(jax.random.split(key, num_particles))


def count(particles: PyTree) -> int:
    """The number of particles M in a set."""
    return jax.tree.leaves(particles)[0].shape[0]


def squared_distances(particles: PyTree) -> Float[Array, "M M"]:
    r"""All pairwise $\lVert\theta^i-\theta^j\rVert^2$, from Gram matrices of the centred leaves.

    Centring keeps the cancellation in $a\cdot a + b\cdot b - 2 a\cdot b$ harmless for particles that
    are close to each other but far from zero. Squares, not norms: a norm has no gradient at zero.
    """
    size = count(particles)
    gram = jnp.zeros((size, size))
    for leaf in jax.tree.leaves(particles):
        rows = leaf.reshape(size, -1)
        rows = rows - jnp.mean(rows, axis=0, keepdims=True)
        gram = gram + rows @ rows.T
    norms = jnp.diagonal(gram)
    distances = norms[:, None] + norms[None, :] - 2.0 * gram
    # Rounding may leave a small negative number, and a small positive one on the diagonal.
    return jnp.where(jnp.eye(size, dtype=bool), 0.0, jnp.maximum(distances, 0.0))


def mix(weights: Float[Array, "M M"], particles: Tree) -> Tree:
    r"""The combinations $\sum_j w_{ij}\theta^j$, leaf by leaf."""
    size = count(particles)
    return jax.tree.map(lambda leaf: (weights @ leaf.reshape(size, -1)).reshape(leaf.shape), particles)


def inner_products(left: PyTree, right: PyTree) -> Float[Array, " M"]:
    r"""Per particle $\langle a^m, b^m\rangle$, summed over leaves."""
    return jax.tree.reduce(
        jnp.add,
        jax.tree.map(lambda a, b: jnp.sum((a * b).reshape(a.shape[0], -1), axis=1), left, right),
    )


def scale(factors: Float[Array, " M"], particles: Tree) -> Tree:
    """Multiply particle m by `factors[m]`."""
    return jax.tree.map(lambda leaf: factors.reshape((-1,) + (1,) * (leaf.ndim - 1)) * leaf, particles)


def where(chosen: Bool[Array, " M"], left: Tree, right: Tree) -> Tree:
    """Particle m of `left` where `chosen[m]`, else that of `right`."""
    return jax.tree.map(
        lambda one, other: jnp.where(chosen.reshape((-1,) + (1,) * (one.ndim - 1)), one, other),
        left,
        right,
    )


def add(left: Tree, right: Tree) -> Tree:
    """Leafwise sum."""
    return jax.tree.map(jnp.add, left, right)


def share_batch_axes(value: Array, reference: PyTree) -> Array:
    """`value` unchanged, but batched wherever `reference` is batched under `vmap`.

    Under `vmap` over tasks, the first adaptation step has one kernel matrix for all tasks and scores
    per task. Their product with an unbatched left side is compiled with two large transpositions; with
    a batched one it is a plain batched product, several times faster on a CPU.
    """
    first: Any = jax.tree.leaves(reference)[0]
    anything = jnp.ravel(first)[0] > 0
    return jax.lax.select(jnp.broadcast_to(anything, value.shape), value, value)
