"""From episodes to what a policy gradient needs: rows of observation, action and advantage."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bmaml.rl.baseline import fitted_values
from bmaml.rl.trajectories import Trajectories, discounted_sums


class Experience(NamedTuple):
    """The steps of one particle in one task as rows; more leading axes where it is stacked.

    `weights` are equal for the steps that took place, zero for the others, and sum to one.
    """

    observations: Float[Array, "*batch row observation"]
    actions: Float[Array, "*batch row action"]
    advantages: Float[Array, "*batch row"]
    weights: Float[Array, "*batch row"]


def generalised_advantages(
    rewards: Float[Array, "*batch time"],
    values: Float[Array, "*batch time"],
    mask: Bool[Array, "*batch time"],
    *,
    discount: float,
    smoothing: float,
) -> Float[Array, "*batch time"]:
    r"""$A_t = \sum_l (\gamma\lambda)^l\,[r_{t+l} + \gamma V(s_{t+l+1}) - V(s_{t+l})]$.

    The value after the last step is zero. With `smoothing` (λ) one it is the return less the value.

    Reference: Schulman et al. 2016, Eq. 16.
    """
    values = jnp.where(mask, values, 0.0)
    following = jnp.concatenate([values[..., 1:], jnp.zeros_like(values[..., :1])], axis=-1)
    surprises = rewards + discount * following - values
    return discounted_sums(surprises, discount * smoothing, mask)


def experience(episodes: Trajectories, *, discount: float = 0.99, smoothing: float = 1.0) -> Experience:
    """The rows of one particle's episodes in one task, advantages standardised."""
    rewards, mask = episodes.rewards, episodes.mask
    returns = discounted_sums(rewards, discount, mask)
    values = fitted_values(episodes.observations, returns, mask)
    advantages = generalised_advantages(
        rewards, values, mask, discount=discount, smoothing=smoothing
    ).reshape(-1)
    taken = mask.reshape(-1)
    weights = taken.astype(advantages.dtype)
    weights = weights / jnp.maximum(jnp.sum(weights), 1.0)
    centred = jnp.where(taken, advantages - weights @ advantages, 0.0)
    scale = jnp.sqrt(weights @ jnp.square(centred)) + 1e-8

    def rows(values: Array) -> Array:
        flat = values.reshape(-1, values.shape[-1])
        return jnp.where(taken[:, None], flat, 0.0)

    return Experience(rows(episodes.observations), rows(episodes.actions), centred / scale, weights)


def all_experience(
    episodes: Trajectories, *, discount: float = 0.99, smoothing: float = 1.0
) -> Experience:
    """`experience` of every task and particle: the two leading axes of `episodes`."""

    def one(block: Trajectories) -> Experience:
        return experience(block, discount=discount, smoothing=smoothing)

    # One task after the other: memory is that of one task.
    return jax.lax.map(jax.vmap(one), episodes)
