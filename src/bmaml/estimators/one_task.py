"""Adapting to one task once, and predicting for it as often as one likes.

Rows are filled up to powers of two, as in `many`, so that few shapes are ever compiled.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree, Shaped

from bmaml.many import ROWS_AT_ONCE, TASKS_AT_ONCE
from bmaml.tasks.task import Data
from bmaml.trained import Trained

# Fewer rows than this are filled up to it: computing a few more takes less than compiling again, and
# a row's prediction does not depend, by rounding, on how few others are asked with it.
FEWEST_ROWS = 32


def adapt_to(
    trained: Trained,
    x: Shaped[np.ndarray, "rows features"],
    y: Shaped[np.ndarray, "rows ..."],
    steps: int | None = None,
) -> PyTree:
    """The particles of the task's posterior, with a leading axis of one task; of no rows, the prior."""
    size = _power_of_two(max(len(x), FEWEST_ROWS))
    arrays: list[Any] = [_fill(x, size)[None], _fill(y, size)[None], (np.arange(size) < len(x))[None]]
    support = Data(*arrays)
    return trained.compiled.adapt_many(trained.particles, support, steps=steps)


def predict_at(
    trained: Trained,
    adapted: PyTree,
    x: Shaped[np.ndarray, "rows features"],
    of_prediction: Callable[[Any], PyTree],
) -> PyTree:
    """`of_prediction` of each row: arrays whose first axis is rows."""
    parts = []
    for first in range(0, len(x), TASKS_AT_ONCE * ROWS_AT_ONCE):
        part = x[first : first + TASKS_AT_ONCE * ROWS_AT_ONCE]
        size = _power_of_two(min(max(len(part), FEWEST_ROWS), ROWS_AT_ONCE))
        chunks = _power_of_two(-(-len(part) // size))
        rows = _fill(part, chunks * size).reshape(chunks, size, -1)
        kept = trained.compiled.predict_many(adapted, np.zeros(chunks, np.int32), rows, of_prediction)
        parts.append(jax.tree.map(partial(_rows, count=len(part)), kept))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)


def _rows(leaf: Any, count: int) -> np.ndarray:
    """Chunks put together again, without what they were filled up with."""
    return np.asarray(leaf).reshape(-1, *leaf.shape[2:])[:count]


def _fill(rows: np.ndarray, size: int) -> np.ndarray:
    return np.pad(rows, [(0, size - len(rows)), *[(0, 0)] * (rows.ndim - 1)])


def _power_of_two(number: int) -> int:
    return 1 << max(0, number - 1).bit_length()
