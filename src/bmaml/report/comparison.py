"""Several trained learners on the same test tasks: who is better, and by how much."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from bmaml.report.evaluation import Evaluation
from bmaml.report.held_out import evaluate_held_out
from bmaml.report.scores import Estimate, Score, estimate
from bmaml.tasks.source import TaskSource
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet, as_task_set
from bmaml.trained import Trained
from bmaml.training_log import number

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Comparison:
    """The scores of several learners, and the differences of all to the first, task by task.

    A task that is hard is hard for all. The interval of a difference is therefore much narrower than
    those of the two scores, and says what they cannot: whether it may be chance.

    Arguments:
        evaluation: the scores of all, the first one's first.
    """

    evaluation: Evaluation

    def difference(self, name: str, metric: str, support_rows: int | None = None) -> Estimate:
        """How much larger a metric is than the first one's: its mean over tasks with a 95 % interval.

        Arguments:
            name: one of those compared.
            metric: such as "mse" or "accuracy"; not those that are computed over all tasks at once.
            support_rows: at which number of support rows; None is the only one, or the largest.
        """
        rows = self.evaluation.support_rows[-1] if support_rows is None else support_rows
        scores = {score.method: score for score in self.evaluation.at(rows)}
        first = next(iter(scores.values()))
        if name not in scores:
            raise ValueError(f"{name!r} was not compared: use one of {', '.join(scores)}.")
        if metric not in first.of_tasks:
            raise ValueError(
                f"{metric!r} is not told task by task: use one of {', '.join(first.of_tasks)}."
            )
        return estimate(scores[name].of_tasks[metric] - first.of_tasks[metric])

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        told = []
        for score in self._others():
            values: dict[str, Any] = {"method": score.method, "support_rows": score.support_rows}
            for name in score.of_tasks:
                mean, interval = self.difference(score.method, name, score.support_rows)
                values |= {name: number(mean), f"{name}_interval": number(interval)}
            told.append(values)
        evaluation = self.evaluation.to_json()
        kept = {name: evaluation[name] for name in ("kind", "split", "tasks", "scores", "best")}
        return {**kept, "first": self.evaluation.method, "differences": told}

    def table(self) -> "Table":
        """The differences, for the terminal; those that are hardly chance are bold."""
        from rich.markup import escape
        from rich.table import Table

        first, metrics = self.evaluation.method, self.evaluation.metrics
        table = Table(
            title=escape(f"More than {first} by"),
            caption="± is the 95 % interval of the mean over tasks; bold: it leaves out zero",
        )
        table.add_column("rows", justify="right")
        table.add_column("method")
        shown = {name: metric for name, metric in metrics.items() if name in self._first().of_tasks}
        for metric in shown.values():
            table.add_column(metric.short, justify="right", no_wrap=True)
        for score in self._others():
            cells = []
            for name, metric in shown.items():
                gap = self.difference(score.method, name, score.support_rows)
                told = gap.told(metric)
                # Not `>=`: of one task there is no interval, and nothing is known.
                cells.append(f"[bold]{told}[/]" if abs(gap.mean) > gap.interval else told)
            table.add_row(str(score.support_rows), escape(score.method), *cells)
        return table

    def _first(self) -> Score:
        return self.evaluation.scores[0]

    def _others(self) -> list[Score]:
        return [score for score in self.evaluation.scores if score.method != self.evaluation.method]


def compare(
    trained: Mapping[str, Trained],
    tasks: Task | TaskSet | TaskSource,
    *,
    steps: int | None = None,
) -> Comparison:
    """Score several learners on the same tasks.

    Arguments:
        trained: by name; differences are to the first.
        tasks: such as `source.held_out("test")`, or a source, whose test tasks they then are.
        steps: inner updates; None is the trained number of each.
    """
    if isinstance(tasks, TaskSource):
        tasks = tasks.held_out("test")
    return together(
        {
            name: evaluate_held_out(one, tasks, method=name, steps=steps)[0]
            for name, one in trained.items()
        }
    )


def together(evaluations: Mapping[str, Evaluation]) -> Comparison:
    """What several learners scored on the same tasks, by name, as one comparison."""
    if len(evaluations) < 2:
        raise ValueError("There is nothing to compare with: give at least two.")
    name, first = next(iter(evaluations.items()))
    scores: dict[int, list[Score]] = {rows: [] for rows in first.support_rows}
    for other_name, other in evaluations.items():
        if other.kind != first.kind:
            raise ValueError(
                f"{name} predicts {first.kind} and {other_name} predicts {other.kind}: they cannot be "
                "compared."
            )
        if (other.support_rows, other.available) != (first.support_rows, first.available):
            raise ValueError(
                f"{name} and {other_name} were not scored on the same tasks with the same numbers of "
                "support rows: score them alike."
            )
        for rows, own in scores.items():
            own += [replace(score, method=other_name) for score in other.at(rows)]
    every = tuple(score for own in scores.values() for score in own)
    about = dict.fromkeys(evaluations, "compared")
    return Comparison(replace(first, method=name, scores=every, about=about))


def fingerprint(tasks: Task | TaskSet) -> Float[np.ndarray, "tasks number"]:
    """A few numbers for each task, which are others where its rows are."""
    return np.asarray(_fingerprint(as_task_set(tasks)))


@jax.jit
def _fingerprint(tasks: TaskSet) -> Float[Array, "tasks number"]:
    def numbers(leaf: Array) -> Array:
        flat = leaf.reshape(-1).astype(jnp.float32)
        return jnp.stack([jnp.sum(flat), flat @ jnp.cos(jnp.arange(flat.size, dtype=jnp.float32))])

    def one(compact: Any) -> Array:
        return jnp.concatenate([numbers(leaf) for leaf in jax.tree.leaves(tasks.make(compact))])

    return jax.lax.map(one, tasks.compact)
