"""A meta-training described by names and numbers alone, so that a folder can say how to rebuild it."""

from dataclasses import asdict, dataclass, field
from typing import Any

from bmaml.errors import BmamlError
from bmaml.learner import Learner
from bmaml.models import mlp
from bmaml.presets import METHODS
from bmaml.tasks import TASK_SOURCES, TaskSource


@dataclass(frozen=True)
class Recipe:
    """A method with its options, on a source of tasks with its options."""

    tasks: str
    method: str
    method_options: dict[str, Any] = field(default_factory=dict)
    task_options: dict[str, Any] = field(default_factory=dict)
    hidden: tuple[int, ...] = (40, 40, 40)

    def task_source(self) -> TaskSource:
        """The tasks."""
        if self.tasks not in TASK_SOURCES:
            raise BmamlError(f"Unknown tasks {self.tasks!r}: use one of {', '.join(TASK_SOURCES)}.")
        try:
            return TASK_SOURCES[self.tasks](**self.task_options)
        except (TypeError, ValueError) as error:
            raise BmamlError(str(error)) from error

    def learner(self) -> Learner:
        """The meta-learner."""
        if self.method not in METHODS:
            raise BmamlError(f"Unknown method {self.method!r}: use one of {', '.join(METHODS)}.")
        try:
            return METHODS[self.method](mlp(1, 1, hidden=self.hidden), **self.method_options)
        except (TypeError, ValueError) as error:
            raise BmamlError(str(error)) from error

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {**asdict(self), "hidden": list(self.hidden)}

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Recipe":
        """The recipe that `to_json` described."""
        try:
            return Recipe(**{**values, "hidden": tuple(values["hidden"])})
        except (TypeError, KeyError) as error:
            raise BmamlError(
                "The run's description does not name a method and tasks that `bmaml` can rebuild; "
                "load it in Python with Trained.load(folder, learner)."
            ) from error
