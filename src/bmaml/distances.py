"""Distances between two particle sets of the same size."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


def paired_squared(left: PyTree, right: PyTree) -> Float[Array, " M"]:
    r"""$\lVert\theta^m - \theta'^m\rVert^2$ for each pair of particles."""
    return jax.tree.reduce(
        jnp.add,
        jax.tree.map(
            lambda a, b: jnp.sum(jnp.square(a - b).reshape(a.shape[0], -1), axis=1), left, right
        ),
    )
