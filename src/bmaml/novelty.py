"""Telling rows that belong to none of a task's classes from those that do."""

from functools import partial

import jax
import numpy as np
from jaxtyping import Array, Key, PyTree

from bmaml.learner import Learner
from bmaml.metrics import auroc
from bmaml.tasks.task_set import TaskSet
from bmaml.trained import BLOCK, Trained

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
    measured, labels = jax.jit(partial(_measure, trained.learner, steps=steps))(
        trained.particles, tasks
    )
    unknown = np.asarray(labels).ravel() < 0
    if not unknown.any() or unknown.all():
        raise ValueError("The tasks need query rows of known and of unknown classes (label −1).")
    return {
        name: float(auroc(values.ravel()[unknown], values.ravel()[~unknown]))
        for name, values in measured.items()
    }


def _measure(
    learner: Learner, particles: PyTree, tasks: TaskSet, *, steps: int | None
) -> tuple[dict[str, Array], Array]:
    def one(compact_and_key: tuple[PyTree, Key[Array, ""]]) -> tuple[dict[str, Array], Array]:
        compact, key = compact_and_key
        task = tasks.make(compact)
        adapted = learner.adapt(particles, task.support, steps=steps, query_x=task.query.x, key=key)
        prediction = learner.predict(adapted, task.query.x)
        return {name: measure(prediction) for name, measure in SUSPICIONS.items()}, task.query.y

    keys = jax.random.split(jax.random.key(0), len(tasks))
    return jax.lax.map(one, (tasks.compact, keys), batch_size=BLOCK)
