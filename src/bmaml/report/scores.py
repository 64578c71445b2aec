"""Scores of several methods on the same episodes: means over tasks, their intervals, who is best."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import stdtrit

from bmaml.metrics import Calibration
from bmaml.training_log import number


class Metric(NamedTuple):
    """How a metric is told, and whether more or less of it is better, if either is (`ranked`)."""

    title: str
    short: str
    higher_is_better: bool = False
    percent: bool = False
    ranked: bool = True


# From here on numbers are told by their power of ten.
LONGEST = 1e7

METRICS: dict[str, dict[str, Metric]] = {
    "numbers": {
        "mse": Metric("squared error", "squared error"),
        "nll": Metric("negative log-likelihood", "NLL"),
        "crps": Metric("CRPS", "CRPS"),
        # Best where it is nine tenths, so neither high nor low is better.
        "coverage": Metric(
            "rows inside the 90 % interval", "in 90 % interval", percent=True, ranked=False
        ),
    },
    "labels": {
        "accuracy": Metric("accuracy", "accuracy", higher_is_better=True, percent=True),
        "nll": Metric("negative log-likelihood", "NLL"),
        "brier": Metric("Brier score", "Brier"),
        "ece": Metric("expected calibration error", "ECE", percent=True, ranked=False),
    },
}


class Estimate(NamedTuple):
    """A mean over tasks and half of its 95 % interval, NaN where there is none."""

    mean: float
    interval: float

    def told(self, metric: Metric) -> str:
        """As in a sentence or a table.

        >>> Estimate(0.12345, 0.02).told(METRICS["numbers"]["mse"])
        '0.123 ± 0.020'
        >>> Estimate(0.5, math.nan).told(METRICS["labels"]["accuracy"])
        '50.0 %'
        >>> Estimate(2.69e17, 4.1e15).told(METRICS["numbers"]["mse"])
        '2.69e+17 ± 4.10e+15'
        """
        factor = 100.0 if metric.percent else 1.0
        mean, interval = factor * self.mean, factor * self.interval
        if not math.isfinite(mean):
            return "not finite"
        digits = 1 if metric.percent else _digits(interval if interval > 0 else mean)
        form = f",.{digits}f" if abs(mean) < LONGEST else ".2e"
        known = f"{mean:{form}}" + (f" ± {interval:{form}}" if math.isfinite(interval) else "")
        return known + (" %" if metric.percent else "")


@dataclass(frozen=True)
class Score:
    """How one method does with one number of support rows.

    Arguments:
        method: its name.
        support_rows: how many rows it adapted to.
        episodes: how many it was judged by.
        estimates: by metric.
        of_tasks: the metrics of each task, averaged over its episodes, to compare methods by.
    """

    method: str
    support_rows: int
    episodes: int
    estimates: dict[str, Estimate]
    of_tasks: dict[str, Float[np.ndarray, " tasks"]]

    @property
    def tasks(self) -> int:
        """How many tasks the means are over."""
        return len(next(iter(self.of_tasks.values())))

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file; null for what is not finite."""
        values = {"method": self.method, "support_rows": self.support_rows}
        values |= {"tasks": self.tasks, "episodes": self.episodes}
        for name, (mean, interval) in self.estimates.items():
            values[name] = number(mean)
            if name in self.of_tasks:
                values[f"{name}_interval"] = number(interval)
        return values


class Best(NamedTuple):
    """The method with the best mean, and those that cannot be told from it."""

    score: Score
    level: tuple[str, ...]


def score_method(
    method: str,
    support_rows: int,
    scores: Mapping[str, Any],
    tasks: Int[np.ndarray, " episodes"],
    kind: str,
) -> Score:
    """Sum the scores of episodes up.

    Arguments:
        method: its name.
        support_rows: of each episode.
        scores: of `metrics.score`, stacked over episodes, in the units of the data.
        tasks: the task of each episode: those of one task are averaged first, as they are not
            independent.
        kind: of target, which says what metrics there are.
    """
    _, place, repeats = np.unique(tasks, return_inverse=True, return_counts=True)
    estimates, of_tasks = {}, {}
    for name in METRICS[kind]:
        values = scores[name]
        if isinstance(values, Calibration):
            estimates[name] = Estimate(float(values.summary()), math.nan)
            continue
        of_tasks[name] = np.bincount(place, np.asarray(values, np.float64)) / repeats
        estimates[name] = estimate(of_tasks[name])
    return Score(method, support_rows, len(tasks), estimates, of_tasks)


def estimate(values: Float[np.ndarray, " tasks"]) -> Estimate:
    r"""The mean over T tasks with $t_{T-1}\, s / \sqrt T$: Student's quantile, as tasks may be few.

    >>> mean, interval = estimate(np.array([1.0, 3.0]))
    >>> print(f"{mean:.1f} ± {interval:.1f}")
    2.0 ± 12.7
    """
    count = len(values)
    if count < 2:
        return Estimate(float(np.mean(values)), math.nan)
    spread = float(np.std(values, ddof=1)) / math.sqrt(count)
    return Estimate(float(np.mean(values)), float(stdtrit(count - 1, 0.975)) * spread)


def best(scores: list[Score], name: str, metric: Metric) -> Best | None:
    """Who has the best mean of a metric, and whose difference to it may be chance.

    Differences are taken task by task, since a task that is hard is hard for all: a much sharper
    comparison than that of intervals.

    Arguments:
        scores: of methods on the same episodes.
        name: of the metric.
        metric: how it is told.

    Returns:
        None if no score is finite.
    """
    sign = -1.0 if metric.higher_is_better else 1.0
    finite = [score for score in scores if math.isfinite(score.estimates[name].mean)]
    if not finite:
        return None
    first = min(finite, key=lambda score: sign * score.estimates[name].mean)
    level = []
    for other in finite:
        if other is first:
            continue
        behind = estimate(sign * (other.of_tasks[name] - first.of_tasks[name]))
        # Not `<=`: of one task there is no interval, and nothing is known.
        if not behind.mean > behind.interval:
            level.append(other.method)
    return Best(first, tuple(level))


def _digits(size: float) -> int:
    """After the point, so that two digits of `size` are seen."""
    if not (math.isfinite(size) and size != 0.0):
        return 3
    return min(max(1 - math.floor(math.log10(abs(size))), 0), 6)
