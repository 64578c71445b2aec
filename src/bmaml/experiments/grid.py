"""The grid of trainings that an experiment is: its parts, and how much to train each."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

from bmaml.recipe import Recipe

# Methods beside the presets, each a preset with options.
COMPOSED: dict[str, tuple[str, dict[str, Any]]] = {
    # Without a prior nothing holds particles that the median rule drives apart, so the kernel has a
    # bandwidth of its own, at which repulsion ends: about 0.6 of the squared distance of two fresh
    # networks 1-40-40-40-1.
    "bmaml-flat": ("bmaml", {"prior": "flat", "kernel": "rbf-100"}),
    # The same with the bandwidth taken from the particles that a training begins with.
    "bmaml-initial": ("bmaml", {"prior": "flat", "kernel": "rbf-initial"}),
    # Features of query images have a gradient in what the chaser predicts, and none in its weights.
    "bmaml-prediction": ("bmaml", {"distance": "prediction"}),
    # The paper's number of steps of chaser and leader, n = s = 1.
    "bmaml-one-step": ("bmaml", {"inner_steps": 1, "leader_steps": 1}),
}


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much to train, and how each method's inner step size is chosen."""

    steps: int
    seeds: tuple[int, ...]
    methods: tuple[tuple[str, int], ...]  # name and number of particles
    batch_size: int = 10
    step_sizes: tuple[float, ...] = ()  # the grid, the same for every method; () takes the defaults
    tuning_steps: int = 0
    validations: int = 20


@dataclass(frozen=True)
class Part(ABC):
    """One method, of the presets or composed, in one setting; `str(part)` names it, and its files."""

    method: str
    num_particles: int

    @property
    def preset(self) -> str:
        """The name of the preset."""
        return COMPOSED.get(self.method, (self.method, {}))[0]

    @abstractmethod
    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""

    def method_options(self, step_size: float | None) -> dict[str, Any]:
        """The options of the preset."""
        options: dict[str, Any] = {} if step_size is None else {"step_size": step_size}
        if self.method not in ("maml", "fomaml"):
            options["num_particles"] = self.num_particles
        return options | COMPOSED.get(self.method, (self.method, {}))[1]

    def to_json(self) -> dict[str, Any]:
        """Its fields, for the result file."""
        return asdict(self)
