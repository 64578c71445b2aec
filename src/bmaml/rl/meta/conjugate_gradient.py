"""Conjugate gradients that also tell the product with the solution, which costs a pass less."""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml import particles as sets


class Solution(NamedTuple):
    """An approximate x with $Fx = b$, and $Fx$."""

    x: PyTree
    product: PyTree


def solve(product: Callable[[PyTree], PyTree], target: PyTree, steps: int) -> Solution:
    """`steps` steps from zero towards $F^{-1}b$, F positive definite and given by its products.

    Stands still once the residual has vanished, or where rounding has made a curvature negative.
    """

    def step(_: Array | int, state: tuple[PyTree, PyTree, PyTree, Array]) -> tuple:
        x, residual, direction, squared = state
        curved = product(direction)
        curvature = _dot(direction, curved)
        size = jnp.where(curvature > 0, squared / jnp.where(curvature > 0, curvature, 1.0), 0.0)
        x = _add(x, size, direction)
        residual = _add(residual, -size, curved)
        now = _dot(residual, residual)
        share = jnp.where(squared > 0, now / jnp.where(squared > 0, squared, 1.0), 0.0)
        return x, residual, _add(residual, share, direction), now

    zero = jax.tree.map(jnp.zeros_like, target)
    start = (zero, target, target, _dot(target, target))
    x, residual, _, _ = jax.lax.fori_loop(0, steps, step, start)
    return Solution(x, jax.tree.map(jnp.subtract, target, residual))


def _dot(left: PyTree, right: PyTree) -> Float[Array, ""]:
    return jnp.sum(sets.inner_products(left, right))


def _add(left: PyTree, factor: Float[Array, ""], right: PyTree) -> PyTree:
    return jax.tree.map(lambda one, two: one + factor * two, left, right)
