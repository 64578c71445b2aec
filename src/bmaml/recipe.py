"""A meta-training described by names and numbers alone, so that a folder can say how to rebuild it."""

from dataclasses import asdict, dataclass, field
from typing import Any

from bmaml.errors import BmamlError
from bmaml.learner import Learner
from bmaml.models import ConvFeatures, Model, SharedModel, conv, features_and_heads, mlp
from bmaml.presets import METHODS
from bmaml.tasks import TASK_SOURCES, TaskSource

# These train only what adaptation moves, and so adapt the whole network.
SHARE_NOTHING = ("reptile",)


@dataclass(frozen=True)
class Recipe:
    """A method with its options, on a source of tasks and a network with theirs."""

    tasks: str
    method: str
    method_options: dict[str, Any] = field(default_factory=dict)
    task_options: dict[str, Any] = field(default_factory=dict)
    model_options: dict[str, Any] = field(default_factory=dict)

    def task_source(self) -> TaskSource:
        """The tasks."""
        try:
            return self._source(**self.task_options)
        except (TypeError, ValueError) as error:
            raise BmamlError(str(error)) from error

    def model(self) -> Model | SharedModel:
        """The network for these tasks: the paper's, with the given options."""
        source: Any = self._source
        if source.inputs == "numbers":
            return mlp(1, 1, **self.model_options)
        ways = self.task_options.get("ways", source.ways)
        if self.method in SHARE_NOTHING:
            return conv(ways, **self.model_options)
        return features_and_heads(ConvFeatures(**self.model_options), mlp(None, ways, hidden=()))

    def learner(self) -> Learner:
        """The meta-learner."""
        if self.method not in METHODS:
            raise BmamlError(f"Unknown method {self.method!r}: use one of {', '.join(METHODS)}.")
        options = {"targets": self._source.targets, **self.method_options}
        try:
            return METHODS[self.method](self.model(), **options)
        except (TypeError, ValueError) as error:
            raise BmamlError(str(error)) from error

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return asdict(self)

    @staticmethod
    def from_json(values: dict[str, Any]) -> "Recipe":
        """The recipe that `to_json` described."""
        try:
            return Recipe(**values)
        except TypeError as error:
            raise BmamlError(
                "The run's description does not name a method and tasks that `bmaml` can rebuild; "
                "load it in Python with Trained.load(folder, learner)."
            ) from error

    @property
    def _source(self) -> type[TaskSource]:
        if self.tasks not in TASK_SOURCES:
            raise BmamlError(f"Unknown tasks {self.tasks!r}: use one of {', '.join(TASK_SOURCES)}.")
        return TASK_SOURCES[self.tasks]
