"""The grid of trainings that an experiment is: its parts, and how much to train each."""

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any

from bmaml.recipe import Recipe


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
    """One method in one setting; `str(part)` names it, and its files."""

    method: str
    num_particles: int

    @abstractmethod
    def recipe(self, step_size: float | None) -> Recipe:
        """How to train it."""

    def method_options(self, step_size: float | None) -> dict[str, Any]:
        """The options of the preset."""
        options: dict[str, Any] = {} if step_size is None else {"step_size": step_size}
        if self.method not in ("maml", "fomaml"):
            options["num_particles"] = self.num_particles
        return options

    def to_json(self) -> dict[str, Any]:
        """Its fields, for the result file."""
        return asdict(self)
