"""Scores of a run whose test tasks come as they are: images, sinusoids."""

from typing import Any

import jax
import numpy as np

from bmaml.metrics import Calibration, summarise
from bmaml.report.evaluation import Evaluation
from bmaml.report.scores import score_method
from bmaml.report.trust import compile_judge, trust
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet, as_task_set
from bmaml.trained import Trained


def evaluate_held_out(
    trained: Trained, tasks: Task | TaskSet, *, method: str, steps: int | None = None
) -> tuple[Evaluation, dict[str, float]]:
    """Score a run on tasks, each an episode of its own.

    Arguments:
        trained: of any method.
        tasks: such as `source.held_out("test")`.
        method: its name.
        steps: inner updates; None is the trained number.

    Returns:
        The evaluation, without baselines; and the scores that `trained.evaluate(tasks)` gives.
    """
    tasks = as_task_set(tasks)
    judged = compile_judge(trained, steps)(tasks)
    scores: dict[str, Any] = judged.scores
    kind = "labels" if any(isinstance(part, Calibration) for part in scores.values()) else "numbers"
    shapes = jax.eval_shape(lambda: tasks[0])
    support_rows = shapes.support.y.shape[0]
    score = score_method(method, support_rows, scores, np.arange(len(tasks)), kind)
    summary = {name: float(value) for name, value in summarise(scores).items()}
    curves = {support_rows: trust(judged)}
    return Evaluation(method, kind, "test", len(tasks), (score,), curves), summary
