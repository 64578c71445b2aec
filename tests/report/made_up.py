"""Evaluations with numbers of any kind."""

import numpy as np

from bmaml.report.evaluation import Evaluation
from bmaml.report.scores import METRICS, Estimate, Score
from bmaml.report.trust import Trust


def made_up(
    kind="numbers", methods=("maml", "pooled", "ridge per task"), support_rows=(0, 1, 5), seed=0
):
    """An evaluation with random numbers."""
    random = np.random.default_rng(seed)
    scores = []
    for rows in support_rows:
        for method in methods:
            of_tasks = {name: random.uniform(0.1, 1.0, size=6) for name in METRICS[kind]}
            estimates = {name: Estimate(values.mean(), 0.1) for name, values in of_tasks.items()}
            scores.append(Score(method, rows, 12, estimates, of_tasks))
    curves = {rows: Trust(*np.sort(random.uniform(size=(5, 10)), axis=1)) for rows in support_rows}
    about = dict.fromkeys(methods[1:], "something <b>else</b>")
    return Evaluation(methods[0], kind, "test", 6, tuple(scores), curves, about)
