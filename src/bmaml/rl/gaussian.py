"""A Gaussian with independent components: what a policy says of its next action."""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Gaussian(NamedTuple):
    """Means for every row, and one log standard deviation for all rows."""

    mean: Float[Array, "row action"]
    log_std: Float[Array, " action"]

    def sample(self, noise: Float[Array, "row action"]) -> Float[Array, "row action"]:
        """The action that standard normal `noise` stands for."""
        return self.mean + jnp.exp(self.log_std)[None, :] * noise

    def log_density(self, actions: Float[Array, "row action"]) -> Float[Array, " row"]:
        """The log density of each row's action."""
        scaled = (actions - self.mean) * jnp.exp(-self.log_std)[None, :]
        constant = jnp.sum(self.log_std) + 0.5 * self.log_std.shape[0] * math.log(2 * math.pi)
        return -0.5 * jnp.sum(jnp.square(scaled), axis=1) - constant

    def divergence(self, other: "Gaussian") -> Float[Array, " row"]:
        """The Kullback–Leibler divergence KL(self || other) of each row."""
        gap = other.log_std - self.log_std
        variance = jnp.exp(-2.0 * gap)[None, :]
        shift = jnp.square((other.mean - self.mean) * jnp.exp(-other.log_std)[None, :])
        return jnp.sum(gap[None, :] + 0.5 * (variance + shift - 1.0), axis=1)

    def metric(self, tangent: "Gaussian", weights: Float[Array, " row"]) -> "Gaussian":
        r"""The Fisher metric of the weighted rows, applied to a tangent.

        It is the Hessian of `weights @ self.divergence(other)` in `other` at `other = self`:
        $1/\sigma^2$ for means and 2 for log standard deviations.
        """
        mean = weights[:, None] * tangent.mean * jnp.exp(-2.0 * self.log_std)[None, :]
        return Gaussian(mean, 2.0 * jnp.sum(weights) * tangent.log_std)
