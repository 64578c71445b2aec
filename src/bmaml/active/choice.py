"""From scores to a choice."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key


def ranking(
    scores: Float[Array, " rows"],
    ties: Float[Array, " rows"],
    available: Bool[Array, " rows"] | None = None,
) -> Int[Array, " rows"]:
    """Row numbers, the most wanted first.

    Arguments:
        scores: higher is more wanted; NaN is wanted least.
        ties: decide between equal scores. Pools are often sorted by class: taking the first of equals
            would be a choice of class.
        available: rows that may be chosen, None for all; the others come last whatever their scores.

    >>> ranking(jnp.array([1.0, jnp.nan, 3.0, 3.0]), jnp.array([0.1, 0.2, 0.3, 0.4]))
    Array([3, 2, 0, 1], dtype=int32)
    """
    taken = jnp.zeros(scores.shape, bool) if available is None else ~available
    return jnp.lexsort((-ties, -scores, taken)).astype(jnp.int32)


def draw_ties(key: Key[Array, ""], rows: int) -> Float[Array, " rows"]:
    """What decides between rows that are wanted alike: by it alone, every order is equally likely."""
    return jax.random.uniform(key, (rows,))
