"""How far predictions can be trusted: calibration, and what refusing uncertain rows gains."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from bmaml.held_out import predict_tasks
from bmaml.metrics import Calibration, refusal_curve, reliability, score
from bmaml.predictive import RegressionPrediction
from bmaml.tasks.task import Data, Task
from bmaml.tasks.task_set import TaskSet
from bmaml.trained import Trained
from bmaml.training_log import number

LEVELS = (*np.arange(1, 10) / 10, 0.95)
SHARES = np.arange(19) / 20


class Judged(NamedTuple):
    """The metrics of each task's episode, and of each query row how uncertain and how good it was.

    Arguments:
        scores: of `metrics.score`, with a leading axis of episodes.
        uncertainty: the standard deviation of a number, the entropy of a class.
        right: the squared error, or whether the class was right.
        rank: F(y), uniform if uncertainty is honest; of classes zero.
        counted: which rows count.
    """

    scores: dict[str, Any]
    uncertainty: Float[Array, "*episodes rows"]
    right: Float[Array, "*episodes rows"]
    rank: Float[Array, "*episodes rows"]
    counted: Bool[Array, "*episodes rows"]


@dataclass(frozen=True)
class Trust:
    """Curves over the query rows of all episodes.

    Arguments:
        expected: nominal levels of central intervals, or mean confidences.
        observed: the share of rows inside, or that is right.
        rows: how many rows stand behind each point.
        refused: shares of rows that get no answer, the most uncertain first.
        left: the squared error or accuracy of the others.
    """

    expected: Float[np.ndarray, " points"]
    observed: Float[np.ndarray, " points"]
    rows: Float[np.ndarray, " points"]
    refused: Float[np.ndarray, " shares"]
    left: Float[np.ndarray, " shares"]

    def to_json(self) -> dict[str, list[float | None]]:
        """Plain values for a JSON file."""
        return {name: [number(value) for value in values] for name, values in vars(self).items()}


def judge(prediction: Any, query: Data) -> Judged:
    """What is kept of one episode; pure."""
    counted = query.counted()
    scores = score(prediction, query.y, query.mask)
    if isinstance(prediction, RegressionPrediction):
        # Rows with several numbers are judged by their mean.
        of_row = lambda values: jnp.mean(values.reshape(values.shape[0], -1), axis=1)  # noqa: E731
        right = of_row(jnp.square(jnp.mean(prediction.residuals(query.y), axis=0)))
        return Judged(scores, of_row(prediction.std), right, of_row(prediction.cdf(query.y)), counted)
    right = (prediction.labels == query.y).astype(jnp.float32)
    return Judged(scores, prediction.entropy, right, jnp.zeros_like(right), counted)


def compile_judge(trained: Trained, steps: int | None = None) -> Callable[[Task | TaskSet], Judged]:
    """A function that adapts to tasks and judges the predictions; compiled once for each shape."""
    run = jax.jit(partial(predict_tasks, trained.learner, of_prediction=judge, steps=steps))
    return lambda tasks: run(trained.particles, tasks)


def trust(judged: Judged, scale: float = 1.0) -> Trust:
    """The curves; `scale` is the standard deviation of a number's unit."""
    counted = np.asarray(judged.counted)
    uncertainty, right, rank = (
        np.asarray(part)[counted] for part in (judged.uncertainty, judged.right, judged.rank)
    )
    calibration = judged.scores.get("ece")
    if isinstance(calibration, Calibration):
        bins = reliability(calibration)
        filled = np.asarray(bins.counts) > 0
        points = bins.confidence, bins.accuracy, bins.counts
        expected, observed, rows = (np.asarray(part)[filled] for part in points)
        curve = refusal_curve(jnp.asarray(uncertainty), jnp.asarray(right) > 0)
        whole = np.asarray(curve.accuracy)
    else:
        expected, rows = np.array(LEVELS), np.full(len(LEVELS), float(len(rank)))
        observed = np.array([np.mean(np.abs(rank - 0.5) <= level / 2) for level in LEVELS])
        order = np.argsort(uncertainty, kind="stable")
        means = np.cumsum(right[order].astype(np.float64)) / np.arange(1, len(right) + 1)
        whole = scale**2 * means[::-1]
    places = np.floor(SHARES * len(whole)).astype(int)
    return Trust(expected, observed, rows, SHARES, whole[places])
