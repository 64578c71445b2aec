"""Regression with Gaussian noise whose precision is learned."""

from dataclasses import dataclass, field

import jax.numpy as jnp
from jaxtyping import Array, Float

from bmaml.checks import require_positive
from bmaml.posterior.gamma import Gamma
from bmaml.posterior.likelihood import Likelihood, check_shapes
from bmaml.predictive import RegressionPrediction


@dataclass(frozen=True)
class GaussianLikelihood(Likelihood):
    r"""$\sum_i \log\mathcal N(y_i \mid f(x_i), \gamma^{-1}) + \log\mathrm{Gamma}(\gamma \mid a, b)$.

    $\log\gamma$ is part of each particle. Its gradient grows with the residuals, so it moves by
    `step_scale` times the step of the weights. With `unit_steps` a particle moves by the step size
    over its γ (with SVGD, over the geometric mean of all particles' γ): a step then has one meaning,
    in units of squared error, whatever γ is or becomes, and γ only weighs the data against the prior
    and the repulsion.
    """

    initial_precision: float = 1.0
    hyperprior: Gamma = field(default_factory=lambda: Gamma(2.0, 0.2))
    step_scale: float = 0.01
    unit_steps: bool = True

    def __post_init__(self) -> None:
        require_positive(initial_precision=self.initial_precision)

    def init(self) -> Float[Array, ""]:
        """log γ₀."""
        return jnp.log(jnp.asarray(self.initial_precision))

    def row_log_probs(
        self, variables: Float[Array, ""], outputs: Array, y: Array
    ) -> Float[Array, " rows"]:
        r"""$\tfrac12\log\gamma - \tfrac\gamma2(y_i-f(x_i))^2$ up to a constant, for each row."""
        check_shapes(outputs, y)
        errors = jnp.square(y - outputs).reshape(y.shape[0], -1)
        return 0.5 * errors.shape[1] * variables - 0.5 * jnp.exp(variables) * jnp.sum(errors, axis=1)

    def log_hyperprior(self, variables: Float[Array, ""]) -> Float[Array, ""]:
        """The Gamma density of γ."""
        return self.hyperprior.log_density_of_log(variables)

    def step_unit(self, variables: Float[Array, ""]) -> Float[Array, ""] | float:
        """1/γ with `unit_steps`, else 1."""
        return jnp.exp(-variables) if self.unit_steps else 1.0

    def sharpen(self, variables: Array, log_factor: Float[Array, ""]) -> Array:
        """log γ + `log_factor`; without `unit_steps` γ is part of the step, and stays as trained."""
        return variables + log_factor if self.unit_steps else variables

    def prediction(
        self, variables: Float[Array, " M"], outputs: Float[Array, "M ..."]
    ) -> RegressionPrediction:
        """A mixture of Gaussians with variances 1/γᵐ."""
        return RegressionPrediction(outputs, jnp.exp(-variables))
