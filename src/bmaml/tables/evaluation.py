"""Accuracy and calibration on the held-out tasks of a table against the number of support rows."""

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from bmaml.metrics import score
from bmaml.report.evaluation import Evaluation
from bmaml.report.scores import Score, score_method
from bmaml.report.trust import Trust, compile_judge, trust
from bmaml.tables.baselines import BASELINES, Baseline
from bmaml.tables.model import TableModel
from bmaml.tables.targets import NumberTarget
from bmaml.tasks.source import Split
from bmaml.tasks.table import TableTasks
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet

__all__ = ["Evaluation", "default_support_rows", "evaluate_table"]

# Enough for an interval, and few enough for a Gaussian process on each of them.
EPISODES = 200

# Called with the name of a method and how many further episodes of it are done.
Progress = Callable[[str, int], None]


def evaluate_table(
    model: TableModel,
    tasks: TableTasks,
    *,
    split: Split = "test",
    support_rows: Sequence[int] | None = None,
    repeats: int | None = None,
    baselines: Sequence[str] | None = None,
    steps: int | None = None,
    progress: bool = True,
) -> Evaluation:
    """Score a model and its baselines on the same episodes of held-out tasks.

    Arguments:
        model: trained on the training tasks of `tasks`.
        tasks: the table.
        split: which tasks.
        support_rows: the numbers of rows to adapt to; None is 0, 1, 2, 5, 10, … up to what the model
            was trained for, as far as at least half of the tasks reach.
        repeats: episodes of each task; None makes about 200 in all. Of more tasks than 200, as many are
            chosen at random.
        baselines: names out of `BASELINES`; None is all that fit the target, `()` none.
        steps: inner updates; None is the trained number.
        progress: show a bar, if there is a terminal.

    Returns:
        The scores, in the units of the table.
    """
    rows = tasks.prepared.parts[split]
    if len(rows.counts) == 0:
        raise ValueError(f"No tasks were kept for {split}: train with a {split} share above 0.")
    counts = default_support_rows(tasks, split) if support_rows is None else sorted(set(support_rows))
    if not counts:
        raise ValueError("support_rows is empty: give at least one number.")
    if repeats is not None and repeats < 1:
        raise ValueError(f"repeats is {repeats}; there must be at least one.")
    chosen, enough = choose_tasks(len(rows.counts))
    repeats = repeats or enough
    methods = _make(model, baselines)
    target = model.encoding.targets
    scale = target.std if isinstance(target, NumberTarget) else 1.0
    judge, score_episodes = compile_judge(model.trained, steps), jax.jit(jax.vmap(score))
    scores: list[Score] = []
    curves: dict[int, Trust] = {}
    drawn = {count: _episodes(tasks, split, count, repeats, chosen) for count in counts}
    every = sum(len(numbers) for _, numbers in drawn.values())
    with _progress(every * (1 + len(methods)), list(methods), progress) as done:
        for name, baseline in methods.items():
            done(f"{name}, fitting", 0)
            baseline.fit(tasks.prepared.parts["train"])
        for count, (episodes, numbers) in drawn.items():

            def summed(name: str, values: Any, count: int = count, numbers: Any = numbers) -> Score:
                return score_method(name, count, _in_units(values, scale), numbers, model.kind)

            judged = judge(episodes)
            scores.append(summed(model.recipe.method, judged.scores))
            curves[count] = trust(judged, scale)
            done(model.recipe.method, len(numbers))
            stacked: Task = episodes[:]
            for name, baseline in methods.items():
                told = f"{name}, {count} support rows"
                prediction = baseline.predict_episodes(stacked, lambda ready, t=told: done(t, ready))
                values = score_episodes(prediction, stacked.query.y, stacked.query.mask)
                scores.append(summed(name, values))
    return Evaluation(
        model.recipe.method,
        model.kind,
        split,
        len(rows.counts),
        tuple(scores),
        curves,
        {name: baseline.about for name, baseline in methods.items()},
    )


def default_support_rows(tasks: TableTasks, split: Split = "test") -> list[int]:
    """0, 1, 2, 5, 10, 20, 50, … as far as the model was trained for and half of the tasks reach."""
    sizes, most = tasks.prepared.parts[split].counts, tasks.most_support
    usual = [0] + [digit * 10**power for power in range(6) for digit in (1, 2, 5)]
    below = [count for count in usual if count <= most]
    # The largest that was trained for, unless it is nearly there already.
    if most >= 1.5 * below[-1]:
        below.append(most)
    return [count for count in below if count == 0 or np.mean(sizes > count) >= 0.5]


def choose_tasks(available: int) -> tuple[Int[np.ndarray, " tasks"], int]:
    """Tasks to judge by, the same every time, and how often to ask each for about 200 episodes.

    >>> choose_tasks(3)
    (array([0, 1, 2]), 67)
    """
    if available <= EPISODES:
        return np.arange(available), math.ceil(EPISODES / available)
    return np.sort(np.random.default_rng(0).choice(available, EPISODES, replace=False)), 1


def _make(model: TableModel, names: Sequence[str] | None) -> dict[str, Baseline]:
    known = BASELINES[model.kind]
    names = list(known) if names is None else list(names)
    for name in names:
        if name not in known:
            raise ValueError(f"Unknown baseline {name!r}: use some of {', '.join(known)}.")
    return {name: known[name](model.trained.learner, model.encoding.outputs) for name in names}


def _episodes(
    tasks: TableTasks, split: Split, count: int, repeats: int, chosen: Int[np.ndarray, " tasks"]
) -> tuple[TaskSet, Int[np.ndarray, " episodes"]]:
    """The episodes of the chosen tasks that have more than `count` rows, and the task of each."""
    made, numbers = tasks.episodes(split, count, repeats=repeats)
    keep = np.flatnonzero(np.isin(numbers, chosen))
    if len(keep) == 0:
        raise ValueError(f"No {split} task has more than {count} rows: ask for fewer support rows.")
    compact = jax.tree.map(lambda leaf: leaf[keep], made.compact)
    return TaskSet(compact, made.data, made.expand), numbers[keep]


def _in_units(scores: dict[str, Any], scale: float) -> dict[str, Any]:
    """From standardised targets to those of the table: a density has the unit's inverse."""
    change = {
        "mse": lambda values: np.asarray(values, np.float64) * scale**2,
        "crps": lambda values: np.asarray(values, np.float64) * scale,
        # Of classes the scale is one.
        "nll": lambda values: np.asarray(values, np.float64) + math.log(scale),
    }
    return {name: change[name](values) if name in change else values for name, values in scores.items()}


@contextmanager
def _progress(total: int, baselines: Sequence[str], shown: bool) -> Iterator[Progress]:
    """A bar on a terminal; elsewhere a line, if it takes long."""
    if not (shown and sys.stderr.isatty()):
        if shown and baselines:
            told = f"Comparing with {', '.join(baselines)}, which takes most of the time."
            print(told, file=sys.stderr, flush=True)
        yield lambda method, ready: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.completed}/{task.total}"), BarColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*columns, TextColumn("{task.description}"), console=console, transient=True) as bar:
        line = bar.add_task("", total=total)
        yield lambda method, ready: bar.update(line, advance=ready, description=method)
