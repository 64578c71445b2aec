"""The contract of a likelihood: what the network's outputs say about the targets."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, PyTree


class Likelihood(ABC):
    """p(y | f(x)), with variables of its own that are part of each particle."""

    # Factor on the inner step of the likelihood's own variables.
    step_scale: float = 1.0
    # Whether rows are averaged, as in MAML's losses, instead of summed, as in a posterior.
    averages: ClassVar[bool] = False
    # The metric that validations are compared by, and whether more of it is better.
    selection: ClassVar[tuple[str, bool]] = ("mse", False)

    @abstractmethod
    def init(self) -> PyTree:
        """The first value of the likelihood's variables."""

    @abstractmethod
    def row_log_probs(self, variables: PyTree, outputs: Array, y: Array) -> Float[Array, " rows"]:
        """log p(y | outputs) of each row."""

    @abstractmethod
    def prediction(self, variables: PyTree, outputs: Float[Array, "M ..."]) -> Any:
        """The predictive mixture of M particles, from their stacked variables and outputs."""

    def row_divergences(self, outputs: Array, others: Array) -> Float[Array, " rows"]:
        """How far other outputs are from these in what they predict; by default the mean square."""
        return jnp.mean(jnp.square(outputs - others).reshape(outputs.shape[0], -1), axis=1)

    def log_hyperprior(self, variables: PyTree) -> Float[Array, ""] | float:
        """The log density of the variables themselves."""
        return 0.0

    def log_prob(
        self,
        variables: PyTree,
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """What adaptation climbs: the sum over the rows that count, or their mean."""
        rows = self.row_log_probs(variables, outputs, y)
        if mask is not None:
            rows = jnp.where(mask, rows, 0.0)
        total = jnp.sum(rows)
        if not self.averages:
            return total
        return total / (
            rows.shape[0] if mask is None else jnp.maximum(jnp.sum(mask, dtype=rows.dtype), 1.0)
        )

    def validation_loss(
        self,
        variables: PyTree,
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """The loss of the `validation` meta-objective; by default −`log_prob`."""
        return -self.log_prob(variables, outputs, y, mask)

    def predictive_log_prob(
        self,
        variables: PyTree,
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """The same of what `prediction` says, for one particle; by default there is no difference."""
        return self.log_prob(variables, outputs, y, mask)

    def check_targets(self, y: Array, prediction: Callable[[], Any]) -> None:  # noqa: B027 (optional)
        """Refuse targets that mean nothing, before adapting to them.

        `prediction()` has the shapes of a prediction at as many rows.
        """

    def step_unit(self, variables: PyTree) -> Float[Array, ""] | float:
        """Factor on all inner steps of a particle."""
        return 1.0

    def sharpen(self, variables: PyTree, log_factor: Float[Array, ""]) -> PyTree:
        """Variables with which predictions are `sharpened` so; by default there are none."""
        return variables


class JudgedApart(Likelihood):
    """A likelihood whose variables only say how sure predictions are.

    Adaptation leaves them alone. The validation loss trains them on predictions *after* adaptation,
    with the network's outputs held constant: the network is trained as if they were not there.
    """

    step_scale: float = 0.0

    def sharpen(self, variables: PyTree, log_factor: Float[Array, ""]) -> PyTree:
        """Logarithms of precisions, moved all alike."""
        return jax.tree.map(lambda leaf: leaf + log_factor, variables)

    @abstractmethod
    def predictive_log_prob(
        self,
        variables: PyTree,
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """What `prediction` says of the rows."""

    def validation_loss(
        self,
        variables: PyTree,
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """The network's loss, plus that of the variables alone."""
        judged = self.predictive_log_prob(variables, jax.lax.stop_gradient(outputs), y, mask)
        return -self.log_prob(variables, outputs, y, mask) - judged


def check_shapes(outputs: Array, y: Array) -> None:
    """Targets must have the shape of the outputs; broadcasting one to the other is never meant."""
    if outputs.shape != y.shape:
        raise ValueError(
            f"The model's outputs have shape {outputs.shape} and the targets {y.shape}: reshape the "
            "targets to the outputs, for example y[:, None] for one output a row."
        )
