"""Tasks that are already arrays."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Key

from bmaml.tasks.source import Split, TaskSource, choose, require_split
from bmaml.tasks.task import Data, Task


@dataclass(frozen=True)
class Arrays(TaskSource):
    """Your own tasks of equal size: `Task`s whose arrays have a leading task axis."""

    train: Task
    validation: Task
    test: Task | None = None

    def __post_init__(self) -> None:
        for split in ("train", "validation", "test"):
            task = getattr(self, split)
            if task is not None:
                _require_whole(split, task)

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


def _require_whole(split: str, tasks: Task) -> None:
    """Refuse arrays that do not belong together: indexing them would pair rows of different tasks."""
    counts = {}
    for part, data in tasks._asdict().items():
        _require_rows(f"{split}.{part}", data)
        counts[part] = np.shape(data.x)[0]
    if len(set(counts.values())) > 1:
        told = " and ".join(f"{count} {part} sets" for part, count in counts.items())
        raise ValueError(f"{split} has {told}: give each task one of both.")


def _require_rows(name: str, data: Data) -> None:
    shapes = {part: np.shape(array) for part, array in zip("xy", data[:2], strict=True)}
    if data.mask is not None:
        shapes["mask"] = np.shape(data.mask)
    if min(map(len, shapes.values())) < 2 or len({shape[:2] for shape in shapes.values()}) > 1:
        told = ", ".join(f"{part} of shape {shape}" for part, shape in shapes.items())
        raise ValueError(f"{name} has {told}: all must begin with the same (tasks, rows).")
    for part, array in zip("xy", data[:2], strict=True):
        if not isinstance(array, Tracer) and not np.all(np.isfinite(np.asarray(array))):
            raise ValueError(
                f"{name}.{part} has values that are NaN or infinite: leave these rows out (by a mask, "
                "over any finite numbers)."
            )
