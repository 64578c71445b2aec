"""Different numbers at random, at a cost that depends on how many and not out of how many."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, UInt32


def distinct(bits: UInt32[Array, " count"], available: int | Int[Array, ""]) -> Int[Array, " count"]:
    """As many different numbers below `available` as there are random `bits`.

    Every ordered choice is equally likely, but for what `bits` modulo a number that is no power of
    two favours: one part in five thousand if a million is available, less if fewer.

    `jax.random.choice` shuffles all that is available: far too much for five classes out of a
    thousand, and impossible where `available` is not known at compile time, as for classes of
    different sizes. Here the i-th draw is from one number more than the draw before it. A number not
    drawn yet goes to the front; at one that was, the newly admitted number goes right behind it.

    Reference: Algorithm P of Bentley & Floyd, "A sample of brilliance", 1987.
    """
    count = bits.shape[0]
    place = jnp.arange(count, dtype=jnp.int32)
    newest = jnp.asarray(available, jnp.int32) - count + place
    drawn = (bits % (newest + 1).astype(jnp.uint32)).astype(jnp.int32)

    def insert(i: Int[Array, ""], taken: Int[Array, " count"]) -> Int[Array, " count"]:
        met = taken == drawn[i]
        before = jnp.any(met)
        at = jnp.where(before, jnp.argmax(met).astype(jnp.int32) + 1, 0)
        number = jnp.where(before, newest[i], drawn[i])
        return jnp.where(place < at, taken, jnp.where(place == at, number, jnp.roll(taken, 1)))

    return jax.lax.fori_loop(0, count, insert, jnp.full((count,), -1, jnp.int32))
