"""The Gamma density of a precision that is held as its logarithm."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float


@dataclass(frozen=True)
class Gamma:
    r"""$\mathrm{Gamma}(x \mid a, b)$ with shape a and rate b."""

    shape: float
    rate: float

    def log_density_of_log(self, log_value: Float[Array, ""]) -> Float[Array, ""]:
        r"""The log density of $u=\log x$ up to a constant: $a\,u - b\,e^u$.

        The Jacobian $dx/du = e^u$ turns the usual $(a-1)\log x$ into $a\log x$.
        """
        return self.shape * log_value - self.rate * jnp.exp(log_value)
