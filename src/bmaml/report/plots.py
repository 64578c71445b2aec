"""The plots of a run page, each an `<svg>` element."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from bmaml.report.evaluation import Evaluation
from bmaml.report.svg import INK, figure, inline
from bmaml.training_log import Entry

# The run's own method is red, as BMAML is everywhere in the project; what it is compared with is not.
OWN = "#d62728"
OTHERS = ("#1f77b4", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#8c564b")
MARKS = ("s", "^", "D", "v", "P", "X")


def training_curve(history: Sequence[Entry], metric: str, kept: int) -> str:
    """Training loss and validation score against meta-updates; `kept` is the one that was kept."""
    with figure() as (made, axis):
        steps = [entry["step"] for entry in history]
        losses = [np.nan if entry["loss"] is None else entry["loss"] for entry in history]
        scores = [entry["validation"].get(metric) for entry in history]
        scores = [np.nan if score is None else score for score in scores]
        axis.plot(steps, scores, color=OWN, label=f"validation {metric}")
        axis.axvline(kept, color=INK, lw=0.8, ls=":", label="kept")
        axis.set_xlabel("meta-updates")
        axis.set_ylabel(f"validation {metric}")
        second = axis.twinx()
        second.plot(steps, losses, color=OTHERS[0], alpha=0.6, label="training loss")
        second.set_ylabel("training loss")
        second.grid(False)
        for each in (axis, second):
            _logarithmic(each, scores if each is axis else losses)
        lines = [*axis.get_lines(), *second.get_lines()]
        axis.legend(lines, [line.get_label() for line in lines])
        return inline(made, "training")


def against_support_rows(evaluation: Evaluation, name: str) -> str:
    """A metric against the number of support rows, with intervals: a line for each method."""
    metric = evaluation.metrics[name]
    factor = 100.0 if metric.percent else 1.0
    places = np.arange(len(evaluation.support_rows))
    with figure(6.2, 3.8) as (made, axis):
        values = []
        for index, method in enumerate(evaluation.methods):
            own = method == evaluation.method
            scores = [score for score in evaluation.scores if score.method == method]
            means = np.array([factor * score.estimates[name].mean for score in scores])
            spreads = np.array([factor * score.estimates[name].interval for score in scores])
            values.append(means)
            axis.errorbar(
                # Beside each other, so that intervals do not hide one another.
                places + 0.05 * (index - 0.5 * (len(evaluation.methods) - 1)),
                means,
                yerr=np.nan_to_num(spreads),
                color=OWN if own else OTHERS[(index - 1) % len(OTHERS)],
                marker="o" if own else MARKS[(index - 1) % len(MARKS)],
                markersize=5 if own else 4,
                lw=2.0 if own else 1.0,
                elinewidth=0.8,
                zorder=3 if own else 2,
                label=method,
            )
        axis.set_xticks(places, [str(rows) for rows in evaluation.support_rows])
        axis.set_xlabel("support rows")
        axis.set_ylabel(metric.title + (", %" if metric.percent else ""))
        if name == "mse":
            _logarithmic(axis, np.concatenate(values))
        else:
            _frame(axis, np.concatenate(values), metric.higher_is_better)
        axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.17), ncols=2)
        return inline(made, f"support-{name}")


def calibration(evaluation: Evaluation) -> str:
    """Observed against expected: on the diagonal if the model's uncertainty is honest."""
    numbers = evaluation.kind == "numbers"
    with figure(4.6, 4.2) as (made, axis):
        axis.plot([0, 100], [0, 100], color=INK, lw=0.8, ls=":", label="honest")
        for colour, rows in _shades(evaluation.support_rows):
            curve = evaluation.trust[rows]
            label = rows_told(rows)
            axis.plot(100 * curve.expected, 100 * curve.observed, "o-", ms=3, color=colour, label=label)
        axis.set_xlabel("central interval, %" if numbers else "confidence, %")
        axis.set_ylabel("rows inside it, %" if numbers else "right answers, %")
        axis.set_xlim(0, 101)
        axis.set_ylim(0, 101)
        axis.legend()
        return inline(made, "calibration")


def refusal(evaluation: Evaluation) -> str:
    """The error or accuracy of the answers that are left when the most uncertain rows get none."""
    name, metric = next(iter(evaluation.metrics.items()))
    factor = 100.0 if metric.percent else 1.0
    with figure() as (made, axis):
        for colour, rows in _shades(evaluation.support_rows):
            curve = evaluation.trust[rows]
            axis.plot(100 * curve.refused, factor * curve.left, color=colour, label=rows_told(rows))
        axis.set_xlabel("rows refused, the most uncertain first, %")
        axis.set_ylabel(f"{metric.title} of the others" + (", %" if metric.percent else ""))
        if name == "mse":
            axis.set_ylim(bottom=0)
        axis.legend()
        return inline(made, "refusal")


def rows_told(rows: int) -> str:
    """In words."""
    return f"{rows} support row{'' if rows == 1 else 's'}"


def _shades(support_rows: Sequence[int]) -> list[tuple[Any, int]]:
    """From pale to the method's red: the more rows, the stronger; readable on white and on black."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = LinearSegmentedColormap.from_list("", ["#e8b04b", OWN, "#7a4fd0"])
    places = np.linspace(0, 1, len(support_rows)) if len(support_rows) > 1 else [0.5]
    return [(shades(place), rows) for place, rows in zip(places, support_rows, strict=True)]


def _logarithmic(axis: Any, values: Any) -> None:
    """A logarithmic axis where values are positive and differ much."""
    finite = np.asarray(values, float)
    finite = finite[np.isfinite(finite)]
    if len(finite) and finite.min() > 0 and finite.max() > 5 * finite.min():
        axis.set_yscale("log")
        # Plain numbers; the default writes powers of ten in TeX.
        axis.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        few = finite.max() < 200 * finite.min()
        axis.yaxis.set_minor_locator(LogLocator(subs=(2.0, 5.0)))
        axis.yaxis.set_minor_formatter(StrMethodFormatter("{x:g}") if few else NullFormatter())


def _frame(axis: Any, values: np.ndarray, higher_is_better: bool) -> None:
    """Show the good end and the middle: one method far off would flatten all others."""
    finite = np.sort(values[np.isfinite(values)])
    if len(finite) == 0:
        return
    good = finite[-1] if higher_is_better else finite[0]
    far = good + 4.0 * (np.median(finite) - good)
    bottom, top = axis.get_ylim()
    if higher_is_better:
        axis.set_ylim(max(bottom, far), top)
    elif far > good:
        axis.set_ylim(bottom, min(top, far))
