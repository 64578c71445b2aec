"""`bmaml train`: what all trainings share (`training.py`), and one file per kind of tasks."""

from bmaml.cli.train.command import TrainCommand, name_the_kind

__all__ = ["TrainCommand", "name_the_kind"]
