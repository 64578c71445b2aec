"""Where tasks come from."""

from bmaml.tasks.arrays import Arrays
from bmaml.tasks.sinusoid import Sinusoid
from bmaml.tasks.source import TaskSource
from bmaml.tasks.task import Data, Task

TASK_SOURCES: dict[str, type[TaskSource]] = {
    "sinusoid": Sinusoid,
}

__all__ = ["TASK_SOURCES", "Arrays", "Data", "Sinusoid", "Task", "TaskSource"]
