"""`bmaml train sinusoid`."""

from dataclasses import dataclass
from typing import ClassVar

from bmaml.cli.train.training import Train


@dataclass(frozen=True)
class TrainSinusoid(Train):
    """The paper's regression: curves that differ in amplitude, frequency and phase."""

    source: ClassVar[str] = "sinusoid"
    task_fields: ClassVar[tuple[str, ...]] = ("shots", "num_tasks")

    shots: int = 5
    """K, support examples a task"""
    num_tasks: int = 100
    """|T|, training tasks, drawn once; 0 draws fresh tasks without end"""
