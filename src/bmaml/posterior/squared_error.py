"""Plain mean squared error, as in MAML, with a noise level learned beside it."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bmaml.posterior.likelihood import JudgedApart, check_shapes
from bmaml.predictive import RegressionPrediction


@dataclass(frozen=True)
class SquaredError(JudgedApart):
    r"""$-\frac1n\sum_i(y_i-f(x_i))^2$: what MAML's inner and outer loops use for regression.

    The network is trained on the squared error exactly, and the prediction still has an honest noise
    part, of precision γ.
    """

    averages: ClassVar[bool] = True

    def init(self) -> Float[Array, ""]:
        """log γ₀ = 0."""
        return jnp.zeros(())

    def row_log_probs(
        self, variables: Float[Array, ""], outputs: Array, y: Array
    ) -> Float[Array, " rows"]:
        """The negative squared error of each row."""
        check_shapes(outputs, y)
        return -jnp.mean(jnp.square(y - outputs).reshape(y.shape[0], -1), axis=1)

    def predictive_log_prob(
        self,
        variables: Float[Array, ""],
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        r"""$\frac12\log\gamma - \frac\gamma2\,\mathrm{MSE}$, up to a constant."""
        error = -self.log_prob(variables, outputs, y, mask)
        return 0.5 * (variables - jnp.exp(variables) * error)

    def prediction(
        self, variables: Float[Array, " M"], outputs: Float[Array, "M ..."]
    ) -> RegressionPrediction:
        """A mixture of Gaussians with the learned noise levels."""
        return RegressionPrediction(outputs, jnp.exp(-variables))
