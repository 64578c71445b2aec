"""A pool out of a task: some of its query rows, the others being left to be judged on."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from bmaml.tasks.task import Data, Task

# Makes a pool and a query out of a task's query; pure.
Split = Callable[[Task, Key[Array, ""]], tuple[Data, Data]]


def split_query(task: Task, key: Key[Array, ""], rows: int) -> tuple[Data, Data]:
    """`rows` of the query rows, drawn at random, as a pool, and the others as a query.

    A pool of labelled classes has as many rows of each as can be, whatever order the rows are in: of 5
    classes, 20 rows are 4 of each. (The paper has a pool of 20 and does not say how it was drawn.)

    Arguments:
        task: one task; its support stays as it is.
        key: the same key splits in the same way.
        rows: of the pool.

    Returns:
        The pool and the query, each with the rows' labels.

    >>> labels = jnp.repeat(jnp.arange(3), 4)
    >>> task = Task(Data(labels[:1], labels[:1]), Data(labels, labels))
    >>> pool, query = split_query(task, jax.random.key(0), 6)
    >>> jnp.bincount(pool.y, length=3), jnp.bincount(query.y, length=3)
    (Array([2, 2, 2], dtype=int32), Array([2, 2, 2], dtype=int32))
    """
    y = task.query.y
    available = y.shape[0]
    if not 0 < rows < available:
        raise ValueError(
            f"A pool of {rows} rows was asked of tasks with {available} query rows: it must have at "
            "least one, and leave at least one to be judged on; `held_out_query` of a source sets them."
        )
    lot = jax.random.uniform(key, (available,))
    classes = jnp.issubdtype(y.dtype, jnp.integer) and y.ndim == 1
    alike = y[:, None] == y[None, :] if classes else jnp.ones((available, available), bool)
    # How many of its class are drawn before a row: the first of each class, then the second of each…
    before = jnp.sum(alike & (lot[None, :] < lot[:, None]), axis=1)
    order = jnp.lexsort((lot, before))
    return _take(task.query, order[:rows]), _take(task.query, order[rows:])


def _take(data: Data, rows: Array) -> Data:
    return jax.tree.map(lambda leaf: leaf[rows], data)
