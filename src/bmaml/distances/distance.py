"""The contract of a distance: how far the chaser is from the leader."""

from abc import ABC, abstractmethod

import jax
from jaxtyping import Array, Float, PyTree

from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


class Distance(ABC):
    """From one set of particles to another of the same size; zero if they are the same.

    A member defines `between`. It gets the posterior and the task, too, and may judge particles by
    what they predict. Parts of a particle that do not count are empty.
    """

    def __call__(
        self, chaser: PyTree, leader: PyTree, posterior: Posterior, task: Task
    ) -> Float[Array, ""]:
        """The distance, never negative; the leader is a constant to differentiation."""
        return self.between(chaser, jax.lax.stop_gradient(leader), posterior, task)

    @abstractmethod
    def between(
        self, chaser: PyTree, leader: PyTree, posterior: Posterior, task: Task
    ) -> Float[Array, ""]:
        """The distance, differentiable in `chaser`, also where it is zero."""
