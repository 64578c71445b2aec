"""The contract of a meta-update: how the initial particles learn from a batch of tasks."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

from jaxtyping import Array, Bool, Float, PyTree

from bmaml.rl.advantages import Experience
from bmaml.rl.inner import PolicyGradient
from bmaml.rl.policy import GaussianPolicy


class MetaBatch(NamedTuple):
    """What was played in a batch of tasks; leading axes of task and particle throughout.

    `support` holds one batch for each inner step, played by the particles before that step, and
    `query` what the adapted particles played.
    """

    support: tuple[Experience, ...]
    query: Experience


class Report(NamedTuple):
    """What a meta-update tells: its loss, whether a step was taken, and how far the policies moved."""

    loss: Float[Array, ""]
    accepted: Float[Array, ""]
    divergence: Float[Array, ""]
    finite: Bool[Array, ""]


# From what was computed of some tasks to the mean over all who hold an equal share of them.
Average = Callable[[PyTree], PyTree]


def alone(mean: PyTree) -> PyTree:
    """The average of one who holds all tasks."""
    return mean


class MetaUpdate(ABC):
    """All functions are pure; `state` is what the update carries from one batch to the next."""

    @abstractmethod
    def init(self, initial: PyTree) -> PyTree:
        """The state before the first update."""

    @abstractmethod
    def update(
        self,
        policy: GaussianPolicy,
        inner: PolicyGradient,
        initial: PyTree,
        state: PyTree,
        batch: MetaBatch,
        *,
        average: Average = alone,
    ) -> tuple[PyTree, PyTree, Report]:
        """New initial particles and state.

        Whatever is a mean over tasks goes through `average`; nothing else depends on more than one.
        """
