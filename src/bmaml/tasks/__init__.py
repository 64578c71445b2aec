"""Where tasks come from."""

from bmaml.tasks.arrays import Arrays
from bmaml.tasks.images import Glyphs, ImageFolder, MiniImageNet, Omniglot
from bmaml.tasks.sinusoid import Sinusoid
from bmaml.tasks.source import TaskSource
from bmaml.tasks.table import TableTasks
from bmaml.tasks.task import Data, Task
from bmaml.tasks.task_set import TaskSet

TASK_SOURCES: dict[str, type[TaskSource]] = {
    "sinusoid": Sinusoid,
    "glyphs": Glyphs,
    "omniglot": Omniglot,
    "miniimagenet": MiniImageNet,
    "folder": ImageFolder,
    "table": TableTasks,
}

__all__ = [
    "TASK_SOURCES",
    "Arrays",
    "Data",
    "Glyphs",
    "ImageFolder",
    "MiniImageNet",
    "Omniglot",
    "Sinusoid",
    "TableTasks",
    "Task",
    "TaskSet",
    "TaskSource",
]
