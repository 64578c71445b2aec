"""Normalisation of image maps, with statistics that are explicit: given, or taken from the rows."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Keeps a constant image (an empty one, say) finite; the value usual in batch normalisation.
EPSILON = 1e-5

Maps = Float[Array, "rows height width channels"]


class Moments(NamedTuple):
    """Mean and variance of each channel."""

    mean: Float[Array, "*rows channels"]
    variance: Float[Array, "*rows channels"]


def image_moments(x: Maps) -> Moments:
    r"""Mean and variance of each image alone, over its pixels and channels; repeated for each channel.

    $$\mu_n = \frac{1}{C} \sum_c \mu_{nc}, \qquad
      \sigma_n^2 = \frac{1}{C} \sum_c \bigl(\sigma_{nc}^2 + (\mu_{nc} - \mu_n)^2\bigr)$$

    from the moments of its channels: XLA's CPU backend is slow at reductions over channels, which lie
    innermost.
    """
    channels = _channel_moments(x, (1, 2))
    mean = jnp.mean(channels.mean, axis=1, keepdims=True)
    variance = jnp.mean(channels.variance + jnp.square(channels.mean - mean), axis=1, keepdims=True)
    return Moments(*(jnp.broadcast_to(each, channels.mean.shape) for each in (mean, variance)))


def row_moments(x: Maps) -> Moments:
    """Mean and variance of each channel over all rows and pixels (batch normalisation)."""
    return _channel_moments(x, (0, 1, 2))


def normalise(
    x: Maps, moments: Moments, scale: Float[Array, " channels"], shift: Float[Array, " channels"]
) -> Maps:
    r"""$\gamma\,(x - \mu) / \sqrt{\sigma^2 + \epsilon} + \beta$.

    Args:
        x: maps.
        moments: $\mu$ and $\sigma^2$, for each row or one for all.
        scale: $\gamma$.
        shift: $\beta$.

    Returns:
        Maps of the same shape.
    """
    # One product and one sum for each number of `x`, all else for each channel.
    mean, variance = (jnp.atleast_2d(each) for each in moments)
    factor = scale[None, :] * jax.lax.rsqrt(variance + EPSILON)
    offset = shift[None, :] - mean * factor
    return x * factor[:, None, None, :] + offset[:, None, None, :]


def _channel_moments(x: Maps, axes: tuple[int, ...]) -> Moments:
    mean = jnp.mean(x, axis=axes)
    square = jnp.mean(jnp.square(x), axis=axes)
    return Moments(mean, jnp.maximum(square - jnp.square(mean), 0))
