"""Tasks that are already arrays."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Array, Key

from bmaml.tasks.source import Split, TaskSource, choose, require_split
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class Arrays(TaskSource):
    """Your own tasks of equal size: `Task`s whose arrays have a leading task axis."""

    train: Task
    validation: Task
    test: Task | None = None

    def training_set(self, key: Key[Array, ""]) -> Any:
        """The training tasks as they are."""
        return self.train

    def batch(self, training_set: Any, key: Key[Array, ""], count: int) -> Task:
        """A random choice of the training tasks."""
        return choose(training_set, key, count)

    def held_out(self, split: Split) -> Task:
        """The tasks given for this split."""
        require_split(split)
        if split == "test" and self.test is None:
            raise ValueError("These tasks have no test split: give `test=` to `Arrays`.")
        return self.validation if split == "validation" else self.test  # type: ignore[return-value]
