"""The contract of a meta-objective: how good the initial particles were for one task."""

from abc import ABC, abstractmethod
from typing import ClassVar

from jaxtyping import Array, Float, Key, PyTree

from bmaml.inner.update import InnerUpdate
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


class MetaObjective(ABC):
    """A loss of the initial particles on one task; the meta-update descends its sum over tasks.

    `trains_shared` says whether its gradient reaches what the particles share and adaptation does not
    move.
    """

    trains_shared: ClassVar[bool] = True

    @abstractmethod
    def loss(
        self,
        posterior: Posterior,
        inner: InnerUpdate,
        initial: PyTree,
        task: Task,
        *,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The loss, differentiable in `initial`. `key` is for inner updates that draw noise."""
