"""How good predictions are against how many labels were asked for, over many tasks."""

from collections.abc import Callable
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import jax
import numpy as np
from jaxtyping import Array, Float, Key, PyTree

from bmaml.active.acquisitions import Chooser
from bmaml.active.pool import Split, split_query
from bmaml.active.rounds import learn
from bmaml.held_out import block_size
from bmaml.learner import Learner
from bmaml.metrics import Pooled, summarise
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet, as_task_set
from bmaml.trained import Compiled, Trained

# The paper's pool.
POOL = 20


def curve(
    trained: Trained,
    tasks: Task | TaskSet,
    acquisition: Chooser = None,
    *,
    pool: int | Split = POOL,
    count: int | None = None,
    steps: int | None = None,
    restart: bool = False,
    key: Key[Array, ""] | None = None,
) -> dict[str, Float[np.ndarray, " rounds"]]:
    """Every metric over tasks, against the number of labels revealed; the main one with an interval.

    With the same key, each task has the same support, pool and query for every acquisition and every
    learner, so that curves differ by what was chosen.

    Arguments:
        trained: what to adapt.
        tasks: such as `source.held_out("test")`.
        acquisition: as in `suggest`.
        pool: rows of each task's query that become its pool (see `split_query`), the others being
            scored; or a function of a task and a key that returns a pool and a query.
        count: labels to reveal; None is all of the pool.
        steps: inner updates in each round; None is the trained number.
        restart: adapt from the initial particles in each round (see `learn`).
        key: drives the splits and what is random in a choice; None is always the same.

    Returns:
        Arrays of `count` + 1 numbers, as of `Trained.evaluate`: the first without further labels. The
        "accuracy_interval" or "mse_interval" is half of the 95 % interval of the mean over tasks.

    Reference: Figure 2c of Kim et al. 2018: "accuracy" of 5-way 1-shot tasks, a pool of 20, M = 5.
    """
    each = _score(
        trained,
        tasks,
        acquisition,
        pool=pool,
        count=count,
        steps=steps,
        restart=restart,
        key=key,
    )
    return {name: np.asarray(values) for name, values in _summarise_rounds(each).items()}


def curve_of_tasks(
    trained: Trained,
    tasks: Task | TaskSet,
    acquisition: Chooser = None,
    *,
    pool: int | Split = POOL,
    count: int | None = None,
    steps: int | None = None,
    restart: bool = False,
    key: Key[Array, ""] | None = None,
) -> dict[str, Float[np.ndarray, "tasks rounds"]]:
    """The curve of each task by itself, such as to take differences between learners task by task.

    Arguments are those of `curve`; metrics that are computed over all tasks at once are left out.
    """
    each = _score(
        trained,
        tasks,
        acquisition,
        pool=pool,
        count=count,
        steps=steps,
        restart=restart,
        key=key,
    )
    return {name: np.asarray(values) for name, values in each.items() if not isinstance(values, Pooled)}


def _score(
    trained: Trained,
    tasks: Task | TaskSet,
    acquisition: Chooser,
    *,
    key: Key[Array, ""] | None,
    **options: Any,
) -> dict[str, Any]:
    """`score_rounds`, compiled once for a learner and its options."""
    _check_targets(trained, as_task_set(tasks))
    compiled = _COMPILED.get(trained.compiled)
    if compiled is None:
        compiled = jax.jit(
            partial(score_rounds, trained.learner),
            static_argnames=("acquisition", "pool", "count", "steps", "restart"),
        )
        _COMPILED[trained.compiled] = compiled
    key = jax.random.key(0) if key is None else key
    return compiled(trained.particles, tasks, acquisition=acquisition, key=key, **options)


def score_rounds(
    learner: Learner,
    initial: PyTree,
    tasks: Task | TaskSet,
    *,
    acquisition: Chooser = None,
    pool: int | Split = POOL,
    count: int | None = None,
    steps: int | None = None,
    restart: bool = False,
    key: Key[Array, ""],
) -> dict[str, Any]:
    """Every metric of each task after each round, (tasks, rounds); what `curve` compiles. Pure."""
    tasks = as_task_set(tasks)
    split = partial(split_query, rows=pool) if isinstance(pool, int) else pool

    def one(compact_and_key: tuple[PyTree, Key[Array, ""]]) -> dict[str, Any]:
        compact, task_key = compact_and_key
        split_key, learn_key = jax.random.split(task_key)
        task = tasks.make(compact)
        unlabelled, query = split(task, split_key)
        return learn(
            learner,
            initial,
            task.support,
            unlabelled,
            query=query,
            acquisition=acquisition,
            count=count,
            steps=steps,
            restart=restart,
            key=learn_key,
        ).scores

    keys = jax.random.split(key, len(tasks))
    return jax.lax.map(one, (tasks.compact, keys), batch_size=block_size(tasks))


@jax.jit
def _summarise_rounds(scores: dict[str, Any]) -> dict[str, Float[Array, " rounds"]]:
    """Over tasks, round by round."""
    return jax.vmap(summarise, in_axes=1)(scores)


# Seeds of one training share what is compiled, as they share `Trained.compiled`.
_COMPILED: WeakKeyDictionary[Compiled, Callable[..., Any]] = WeakKeyDictionary()


def _check_targets(trained: Trained, tasks: TaskSet) -> None:
    """Query rows of unknown classes, for one, have no label that could be revealed."""
    support = jax.eval_shape(lambda tasks: tasks[0].support, tasks)
    trained.learner.posterior.likelihood.check_targets(
        _query_targets(tasks), lambda: trained.compiled.prediction_shapes(trained.particles, support)
    )


@jax.jit
def _query_targets(tasks: TaskSet) -> Array:
    # Nothing else of the tasks is computed: the compiler leaves out what is not returned.
    return jax.vmap(lambda compact: tasks.make(compact).query.y)(tasks.compact)
