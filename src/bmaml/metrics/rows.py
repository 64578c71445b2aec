"""Means over the rows that count."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped

# False for rows that only fill a task up to the size of others; None: every row counts.
Mask = Bool[Array, " rows"] | None


def mean_of_rows(values: Shaped[Array, "*rows"], mask: Mask = None) -> Array:
    """The mean of `values`, whose first axis is rows, over those that count; 0 if none does.

    >>> mean_of_rows(jnp.array([1.0, 3.0, 100.0]), jnp.array([True, True, False]))
    Array(2., dtype=float32)
    """
    values = values if jnp.issubdtype(values.dtype, jnp.floating) else values.astype(jnp.float32)
    if mask is None:
        return jnp.mean(values)
    each = jnp.mean(values.reshape(values.shape[0], -1), axis=1)
    return jnp.sum(jnp.where(mask, each, 0.0)) / jnp.maximum(jnp.sum(mask, dtype=each.dtype), 1.0)
