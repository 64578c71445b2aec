"""Episodes in a block: all that a learner sees of an environment."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float


class Trajectories(NamedTuple):
    """Episodes of any number of leading axes (task, particle, episode), padded to one length.

    `mask[..., t]` says whether step t took place; the step that ends an episode did. What stands
    beyond the end means nothing and never counts.
    """

    observations: Float[Array, "*batch time observation"]
    actions: Float[Array, "*batch time action"]
    rewards: Float[Array, "*batch time"]
    mask: Bool[Array, "*batch time"]

    @property
    def returns(self) -> Float[Array, "*batch"]:
        """The undiscounted return of each episode."""
        return jnp.sum(jnp.where(self.mask, self.rewards, 0.0), axis=-1)

    @property
    def lengths(self) -> Array:
        """The number of steps of each episode."""
        return jnp.sum(self.mask, axis=-1)


def discounted_sums(
    values: Float[Array, "*batch time"], discount: float, mask: Bool[Array, "*batch time"]
) -> Float[Array, "*batch time"]:
    r"""$\sum_{l\ge 0} \gamma^l x_{t+l}$ up to the end of the episode, for every step; then zero."""

    def back(later: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        value, taken = now
        total = jnp.where(taken, value + discount * later, 0.0)
        return total, total

    over_time = (jnp.moveaxis(values, -1, 0), jnp.moveaxis(mask, -1, 0))
    start = jnp.zeros(values.shape[:-1], values.dtype)
    _, sums = jax.lax.scan(back, start, over_time, reverse=True)
    return jnp.moveaxis(sums, 0, -1)
