"""No prior: every weight is as likely as any other."""

from dataclasses import dataclass

from jaxtyping import PyTree

from bmaml.posterior.prior import Prior


@dataclass(frozen=True)
class FlatPrior(Prior):
    """A constant density; what is left is maximum likelihood, as in MAML."""

    def init(self) -> tuple:
        """Nothing to learn."""
        return ()

    def log_prob(self, variables: tuple, weights: PyTree) -> float:
        """Zero."""
        return 0.0
