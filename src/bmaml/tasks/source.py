"""The contract of a source of tasks: what to train on, and what to keep apart."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import jax
from jaxtyping import Array, Key

from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet

Split = Literal["validation", "test"]


class TaskSource(ABC):
    """Where tasks come from. Every method is pure and works under `jit` and `vmap` (over seeds).

    `inputs` and `targets` say what rows are made of, so that a fitting network and likelihood can be
    chosen for them.
    """

    inputs: ClassVar[Literal["numbers", "images"]] = "numbers"
    targets: ClassVar[Literal["numbers", "labels"]] = "numbers"

    @abstractmethod
    def training_set(self, key: Key[Array, ""]) -> Any:
        """Whatever stays fixed during one meta-training, such as |T| stacked tasks."""

    @abstractmethod
    def batch(self, training_set: Any, key: Key[Array, ""], count: int) -> Task:
        """`count` tasks for one meta-update, stacked along a leading axis."""

    @abstractmethod
    def held_out(self, split: Split) -> Task | TaskSet:
        """Tasks that no training set contains, the same for every training seed; stacked or compact."""


def choose(tasks: Task, key: Key[Array, ""], count: int) -> Task:
    """`count` different tasks out of a stack, at random."""
    available = jax.tree.leaves(tasks)[0].shape[0]
    if count > available:
        raise ValueError(
            f"A meta-batch of {count} tasks was asked of a set of {available}: lower the batch size "
            "or provide more tasks."
        )
    chosen = jax.random.choice(key, available, (count,), replace=False)
    return jax.tree.map(lambda leaf: leaf[chosen], tasks)
