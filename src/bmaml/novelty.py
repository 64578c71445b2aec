"""Telling rows that belong to none of a task's classes from those that do."""

from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from bmaml.held_out import predict_tasks
from bmaml.metrics import auroc
from bmaml.tasks.task import Data
from bmaml.tasks.task_set import TaskSet
from bmaml.trained import Trained

# By what a row may be suspected, each higher for the stranger row.
SUSPICIONS = {
    "entropy": lambda prediction: prediction.entropy,
    "mutual_information": lambda prediction: prediction.mutual_information,
    "confidence": lambda prediction: -prediction.confidence,
}


def novelty_auroc(trained: Trained, tasks: TaskSet, *, steps: int | None = None) -> dict[str, float]:
    """How well a measure of uncertainty tells query rows of unknown classes (label −1) apart.

    Arguments:
        trained: of any classification method.
        tasks: such as `source.held_out_with_unknown("test")`.
        steps: inner updates; None is the trained number.

    Returns:
        The area under the ROC curve by measure, over the rows of all tasks together, which takes one
        threshold to serve them all: 0.5 is chance, 1 is perfect.
    """

    def measure(prediction: Any, query: Data) -> tuple[dict[str, Array], Array]:
        return {name: suspicion(prediction) for name, suspicion in SUSPICIONS.items()}, query.y

    compiled = jax.jit(partial(predict_tasks, trained.learner, of_prediction=measure, steps=steps))
    measured, labels = compiled(trained.particles, tasks)
    unknown = np.asarray(labels).ravel() < 0
    if not unknown.any() or unknown.all():
        raise ValueError("The tasks need query rows of known and of unknown classes (label −1).")
    return {
        name: float(auroc(values.ravel()[unknown], values.ravel()[~unknown]))
        for name, values in measured.items()
    }
