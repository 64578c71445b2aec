"""A meta-training described by names and numbers alone, so that a folder can say how to rebuild it."""

from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from bmaml.errors import BmamlError
from bmaml.learner import Learner
from bmaml.models import ConvFeatures, Model, SharedModel, conv, features_and_heads, mlp
from bmaml.presets import METHODS
from bmaml.tasks import TASK_SOURCES, TaskSource
from bmaml.tasks.source import Rows

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
            return self._source.from_options(self.task_options)
        except (TypeError, ValueError) as error:
            raise BmamlError(str(error)) from error

    def test_source(self, tasks: int | None = None) -> TaskSource:
        """The tasks, with so many of them to test on; None is as many as the source has by itself."""
        source = self.task_source()
        try:
            return source if tasks is None else source.with_test_tasks(tasks)
        except ValueError as error:
            raise BmamlError(str(error)) from error

    def with_data(self, path: str) -> "Recipe":
        """The same on a copy of the data that lies elsewhere."""
        names = [name for name in ("path", "folder") if name in self.task_options]
        if not names:
            raise BmamlError(f"The tasks of {self.tasks} are made, not read: leave out the data.")
        return replace(self, task_options={**self.task_options, names[0]: path})

    def model(self) -> Model | SharedModel:
        """The network for these tasks: the paper's, with the given options."""
        inputs, _, outputs = self.rows
        if inputs == "numbers":
            return mlp(None, outputs, **self.model_options)
        if self.method in SHARE_NOTHING:
            if self.model_options.get("norm") in ("task", "transductive"):
                raise BmamlError(
                    f"{self.method} adapts the whole network, which cannot normalise by the support "
                    "images of a task: use the norm example or none."
                )
            return conv(outputs, **self.model_options)
        return features_and_heads(ConvFeatures(**self.model_options), mlp(None, outputs, hidden=()))

    def learner(self) -> Learner:
        """The meta-learner."""
        if self.method not in METHODS:
            raise BmamlError(f"Unknown method {self.method!r}: use one of {', '.join(METHODS)}.")
        options = {"targets": self.rows.targets, **self.method_options}
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
        if "reinforcement" in values:
            raise BmamlError(
                "The run holds policies: use `bmaml evaluate`, or in Python "
                "bmaml.rl.TrainedPolicies.load(folder)."
            )
        try:
            recipe = Recipe(**values)
            for one in fields(recipe):
                kind = dict if one.name.endswith("options") else str
                if not isinstance(getattr(recipe, one.name), kind):
                    raise TypeError(f"{one.name} is damaged")
            return recipe
        except TypeError as error:
            raise BmamlError(
                "The run's description does not name a method and tasks that `bmaml` can rebuild; "
                "load it in Python with Trained.load(folder, learner)."
            ) from error

    @property
    def rows(self) -> Rows:
        """What the rows of its tasks are; no data is touched."""
        return self._source.rows(self.task_options)

    @property
    def _source(self) -> type[TaskSource]:
        if self.tasks not in TASK_SOURCES:
            raise BmamlError(f"Unknown tasks {self.tasks!r}: use one of {', '.join(TASK_SOURCES)}.")
        return TASK_SOURCES[self.tasks]
