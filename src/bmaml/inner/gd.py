"""Gradient descent on the negative log density: MAML's inner update, particles apart."""

from dataclasses import dataclass

from jaxtyping import PyTree

from bmaml.inner.update import InnerUpdate


@dataclass(frozen=True)
class GradientDescent(InnerUpdate):
    r"""$\theta^m \leftarrow \theta^m + \alpha\,\nabla\log p(\theta^m)$ for each particle on its own."""

    def direction(self, particles: PyTree, scores: PyTree) -> PyTree:
        """The scores themselves."""
        return scores
