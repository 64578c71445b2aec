"""Many tasks in a compact form, made whole one by one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
from jaxtyping import PyTree

from bmaml.tasks.task import Task


def _as_it_is(data: Any, task: Task) -> Task:
    return task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TaskSet:
    """Tasks that share their data, such as episodes of images, which overlap in most of them.

    A thousand image episodes do not fit into memory side by side; their row numbers do. It is a
    pytree: pass it to compiled functions, so that its data never becomes a constant of theirs.

    Arguments:
        compact: what tells one task from another, with a leading task axis.
        data: arrays common to all tasks.
        expand: makes a task from `data` and one row of `compact`; pure.
    """

    compact: PyTree
    data: PyTree = ()
    expand: Callable[[PyTree, PyTree], Task] = field(default=_as_it_is, metadata={"static": True})

    def __len__(self) -> int:
        return jax.tree.leaves(self.compact)[0].shape[0]

    def __getitem__(self, index: Any) -> Task:
        """One task, or several stacked for a slice or an array of indices."""
        chosen = jax.tree.map(lambda leaf: leaf[index], self.compact)
        one = jax.tree.leaves(chosen)[0].ndim < jax.tree.leaves(self.compact)[0].ndim
        make = self.make if one else jax.vmap(self.make)
        return make(chosen)

    def make(self, compact: PyTree) -> Task:
        """The task that one row of `compact` describes."""
        return self.expand(self.data, compact)


def as_task_set(tasks: "Task | TaskSet") -> TaskSet:
    """Stacked tasks as a set."""
    return tasks if isinstance(tasks, TaskSet) else TaskSet(tasks)
