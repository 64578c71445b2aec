"""The posterior of one task, which predicts."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import PyTree

from bmaml.compiled import Compiled
from bmaml.given_rows import given_rows
from bmaml.training_state import Example


@dataclass(frozen=True)
class AdaptedPosterior:
    """The particles of one task's posterior.

    Arguments:
        particles: as adaptation left them.
        example: shapes and types of a support set.
        compiled: the learner's functions.
        rows: how many rows of the task it knows; None if that was not noted.
        steps: inner updates that led there; None is the trained number.
    """

    particles: PyTree
    example: Example
    compiled: Compiled
    rows: int | None = None
    steps: int | None = None

    def predict(self, x: Any) -> Any:
        """The predictive mixture at the rows of `x`; its rows are `(rows, outputs)`.

        The first call for a number of rows compiles; later ones take well under a millisecond.
        """
        return self.compiled.predict(self.particles, given_rows("x", x, self.example.x))

    def __repr__(self) -> str:
        """In one line: the particles of a network are pages of numbers."""
        learner = self.compiled.learner
        steps = learner.inner.steps if self.steps is None else self.steps
        known = "" if self.rows is None else f"rows={self.rows}, "
        return (
            f"AdaptedPosterior({learner.name}, particles={learner.num_particles}, {known}"
            f"steps={steps}, {self.example.told()})"
        )
