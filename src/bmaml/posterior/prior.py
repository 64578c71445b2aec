"""The contract of a prior over the network's weights."""

from abc import ABC, abstractmethod

from jaxtyping import Array, Float, PyTree


class Prior(ABC):
    """p(weights), with variables of its own that are part of each particle."""

    # Factor on the inner step of the prior's own variables.
    step_scale: float = 1.0

    @abstractmethod
    def init(self) -> PyTree:
        """The first value of the prior's variables."""

    @abstractmethod
    def log_prob(self, variables: PyTree, weights: PyTree) -> Float[Array, ""] | float:
        """The log density of the weights and of the variables."""
