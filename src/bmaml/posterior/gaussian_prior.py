"""Gaussian weights with a learned precision."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml.checks import require_positive
from bmaml.posterior.gamma import Gamma
from bmaml.posterior.prior import Prior


@dataclass(frozen=True)
class GaussianPrior(Prior):
    r"""$\sum_w \log\mathcal N(w \mid 0, \lambda^{-1}) + \log\mathrm{Gamma}(\lambda \mid a', b')$.

    The gradient with respect to $\log\lambda$ is of order dim(w)/2: an explicit step as long as the
    weights' would overshoot, hence `step_scale`. The initial λ is small: with λ = γ, thousands of
    weights outvote a handful of observations, and the network shrinks to zero.
    """

    initial_precision: float = 0.01
    hyperprior: Gamma = field(default_factory=lambda: Gamma(2.0, 2.0))
    step_scale: float = 1e-4

    def __post_init__(self) -> None:
        require_positive(initial_precision=self.initial_precision)

    def init(self) -> Float[Array, ""]:
        """log λ₀."""
        return jnp.log(jnp.asarray(self.initial_precision))

    def log_prob(self, variables: Float[Array, ""], weights: PyTree) -> Float[Array, ""]:
        r"""$\tfrac d2\log\lambda - \tfrac\lambda2\lVert w\rVert^2$ and the Gamma density of λ."""
        leaves = jax.tree.leaves(weights)
        dimension = sum(leaf.size for leaf in leaves)
        square = sum((jnp.sum(jnp.square(leaf)) for leaf in leaves), jnp.zeros(()))
        weight_density = 0.5 * dimension * variables - 0.5 * jnp.exp(variables) * square
        return weight_density + self.hyperprior.log_density_of_log(variables)
