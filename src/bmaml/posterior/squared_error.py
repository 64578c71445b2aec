"""Plain mean squared error, as in MAML, with a noise level learned beside it."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bmaml.posterior.likelihood import Likelihood, check_shapes
from bmaml.predictive import RegressionPrediction


@dataclass(frozen=True)
class SquaredError(Likelihood):
    r"""$-\frac1n\sum_i(y_i-f(x_i))^2$: what MAML's inner and outer loops use for regression.

    Adaptation leaves the noise level alone. The validation loss trains it on the residuals *after*
    adaptation, with the residuals held constant, so that the network is trained on the squared error
    exactly and the prediction still has an honest noise part.
    """

    averages: ClassVar[bool] = True
    step_scale: float = 0.0

    def init(self) -> Float[Array, ""]:
        """log γ₀ = 0."""
        return jnp.zeros(())

    def row_log_probs(
        self, variables: Float[Array, ""], outputs: Array, y: Array
    ) -> Float[Array, " rows"]:
        """The negative squared error of each row."""
        check_shapes(outputs, y)
        return -jnp.mean(jnp.square(y - outputs).reshape(y.shape[0], -1), axis=1)

    def validation_loss(
        self,
        variables: Float[Array, ""],
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """The mean squared error, plus the Gaussian loss of the noise level alone."""
        error = -self.log_prob(variables, outputs, y, mask)
        noise = 0.5 * (jnp.exp(variables) * jax.lax.stop_gradient(error) - variables)
        return error + noise

    def prediction(
        self, variables: Float[Array, " M"], outputs: Float[Array, "M ..."]
    ) -> RegressionPrediction:
        """A mixture of Gaussians with the learned noise levels."""
        return RegressionPrediction(outputs, jnp.exp(-variables))
