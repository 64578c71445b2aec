"""Adapting to many tasks of different sizes, and predicting for all of them, in a few large batches.

Rows are filled up to powers of two, so that whatever comes runs through a handful of compiled shapes.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Int, PyTree, Shaped

from bmaml.tasks.task import Data
from bmaml.trained import Trained

# Tasks adapted to at once, and rows predicted at once for each of them: enough to fill a processor.
TASKS_AT_ONCE = 64
ROWS_AT_ONCE = 256


class Groups(NamedTuple):
    """Rows of many tasks: those of task i are `starts[i] : starts[i] + counts[i]`."""

    x: Shaped[np.ndarray, "rows ..."]
    starts: Int[np.ndarray, " tasks"]
    counts: Int[np.ndarray, " tasks"]
    y: Shaped[np.ndarray, "rows ..."] | None = None


def predict_many(
    trained: Trained,
    support: Groups,
    query: Groups,
    of_prediction: Callable[[Any], PyTree],
    *,
    steps: int | None = None,
) -> PyTree:
    """Predict the query rows of each task after adapting to its support rows, which may be none.

    Arguments:
        trained: of any method.
        support: the rows to adapt to, with targets.
        query: the rows to predict, of the same tasks in the same order.
        of_prediction: what to keep of a prediction: arrays whose first axis is rows. A function of a
            module rather than a new one every time, so that its compiled form is found again.
        steps: inner updates; None is the trained number.

    Returns:
        `of_prediction` of every query row, in the order of `query`.
    """
    assert support.y is not None
    results, structure = None, None
    # Tasks with like numbers of rows together, so that little is filled up.
    order = np.lexsort((query.counts, support.counts))
    order = order[query.counts[order] > 0]
    for first in range(0, len(order), TASKS_AT_ONCE):
        tasks = order[first : first + TASKS_AT_ONCE]
        data = _supports(support, tasks)
        adapted = trained.compiled.adapt_many(trained.particles, data, steps=steps)
        for rows, places, counted in _chunks(query, tasks):
            kept = trained.compiled.predict_many(adapted, places, query.x[rows], of_prediction)
            leaves, structure = jax.tree.flatten(kept)
            leaves = [np.asarray(leaf) for leaf in leaves]  # (chunks, rows, ...)
            if results is None:
                results = [np.empty((len(query.x), *leaf.shape[2:]), leaf.dtype) for leaf in leaves]
            for whole, leaf in zip(results, leaves, strict=True):
                whole[rows[counted]] = leaf[counted]
    if results is None:
        raise ValueError("There are no rows to predict: give at least one.")
    return jax.tree.unflatten(structure, results)


def _supports(support: Groups, tasks: Int[np.ndarray, " tasks"]) -> Data:
    """The tasks' support rows, filled up to one number of rows and of tasks."""
    assert support.y is not None
    counts = np.zeros(_power_of_two(len(tasks)), np.int32)
    counts[: len(tasks)] = support.counts[tasks]
    starts = np.zeros_like(counts)
    starts[: len(tasks)] = support.starts[tasks]
    place = np.arange(_power_of_two(counts.max()))
    mask = place[None] < counts[:, None]
    rows = np.where(mask, starts[:, None] + place[None], 0)
    if len(support.x) == 0:  # No task has any; the masked row must be made up.
        x = jnp.zeros((*rows.shape, *support.x.shape[1:]), support.x.dtype)
        y = jnp.zeros((*rows.shape, *support.y.shape[1:]), support.y.dtype)
        return Data(x, y, jnp.asarray(mask))
    return Data(jnp.asarray(support.x[rows]), jnp.asarray(support.y[rows]), jnp.asarray(mask))


def _chunks(
    query: Groups, tasks: Int[np.ndarray, " tasks"]
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Row numbers (chunks, rows), the place of each chunk's task in `tasks`, and which rows count."""
    size = _power_of_two(min(int(query.counts[tasks].max()), ROWS_AT_ONCE))
    per_task = -(-query.counts[tasks] // size)
    places = np.repeat(np.arange(len(tasks)), per_task)
    first = (np.arange(len(places)) - np.repeat(np.cumsum(per_task) - per_task, per_task)) * size
    for begin in range(0, len(places), TASKS_AT_ONCE):
        place, start = places[begin : begin + TASKS_AT_ONCE], first[begin : begin + TASKS_AT_ONCE]
        fill = _power_of_two(len(place)) - len(place)
        place, start = np.pad(place, (0, fill)), np.pad(start, (0, fill), constant_values=2**30)
        within = start[:, None] + np.arange(size)[None]
        counted = within < query.counts[tasks[place]][:, None]
        rows = np.where(counted, query.starts[tasks[place]][:, None] + within, 0)
        yield rows, place.astype(np.int32), counted


def _power_of_two(number: int | np.integer) -> int:
    """The smallest power of two that is no less, from one on."""
    return 1 << max(0, int(number) - 1).bit_length()
