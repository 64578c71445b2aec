"""The contract of a source of tasks: what to train on, and what to keep apart."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, NamedTuple, get_args

import jax
from jaxtyping import Array, Key

from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet

Split = Literal["validation", "test"]


class Rows(NamedTuple):
    """What the rows of tasks are made of, so that a fitting network and likelihood can be chosen.

    `outputs` are the numbers to predict for a row, or the classes it may belong to.
    """

    inputs: Literal["numbers", "images"]
    targets: Literal["numbers", "labels"]
    outputs: int


class TaskSource(ABC):
    """Where tasks come from. Every method is pure and works under `jit` and `vmap` (over seeds)."""

    @classmethod
    def from_options(cls, options: Mapping[str, Any]) -> "TaskSource":
        """The source that a run's description names, from values of a JSON file."""
        return cls(**options)

    @classmethod
    def rows(cls, options: Mapping[str, Any]) -> Rows:
        """What its rows are, told without touching any data."""
        return Rows("numbers", "numbers", 1)

    def describe(self) -> dict[str, Any]:
        """Its kind and the numbers it was made with, so that a run is not resumed on other tasks.

        Not its files and arrays: they may have moved, and are not worth comparing.
        """
        numbers = {
            one.name: value
            for one in (fields(self) if is_dataclass(self) else ())
            if isinstance(value := getattr(self, one.name), int | float)
        }
        return {"kind": type(self).__name__, **numbers}

    def ranges(self) -> dict[str, list[float]]:
        """What training inputs look like: the least and the greatest of a few numbers, by name.

        A run keeps them, so that inputs unlike all of training can be noticed. Empty: nothing is kept.
        """
        return {}

    @abstractmethod
    def training_set(self, key: Key[Array, ""]) -> Any:
        """Whatever stays fixed during one meta-training, such as |T| stacked tasks."""

    @abstractmethod
    def batch(self, training_set: Any, key: Key[Array, ""], count: int) -> Task:
        """`count` tasks for one meta-update, stacked along a leading axis."""

    @abstractmethod
    def held_out(self, split: Split) -> Task | TaskSet:
        """Tasks that no training set contains, the same for every training seed; stacked or compact."""

    def with_test_tasks(self, count: int) -> "TaskSource":
        """The same with so many test tasks: more of them say more surely how good a learner is."""
        raise ValueError(
            f"{type(self).__name__} has the test tasks that its data have, and draws no others: leave "
            "out their number."
        )


def require_split(split: str) -> None:
    """Refuse a name that is no held-out split."""
    if split not in get_args(Split):
        names = " or ".join(map(repr, get_args(Split)))
        raise ValueError(f"There is no held-out split {split!r}: use {names}.")


def require_task_count(num_tasks: int | None) -> None:
    """Refuse a number of training tasks that is none; None is no number, but tasks without end."""
    if num_tasks is not None and num_tasks < 1:
        raise ValueError(
            f"num_tasks is {num_tasks}; it must be at least 1, or for tasks without end None (on the "
            "command line, 0)."
        )


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
