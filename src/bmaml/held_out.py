"""Scores on tasks that training has not seen: adapt to each one's support, predict its query."""

from collections.abc import Callable
from typing import Any

import jax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Key, PyTree

from bmaml.learner import Learner
from bmaml.metrics import Sharpenable, score, sharpness_curve, summarise
from bmaml.scale.mesh import over_tasks
from bmaml.tasks.task import Data, Task
from bmaml.tasks.task_set import TaskSet, as_task_set

# Held-out tasks are scored in blocks of at most so many tasks, and so many numbers in their inputs:
# enough to fill a processor, and memory stays small however many tasks there are.
BLOCK = 50
BLOCK_NUMBERS = 2**19


def predict_tasks(
    learner: Learner,
    particles: PyTree,
    tasks: Task | TaskSet,
    of_prediction: Callable[[Any, Data], PyTree],
    *,
    steps: int | None = None,
    mesh: Mesh | None = None,
) -> PyTree:
    """Adapt to each task's support, predict its query, and stack `of_prediction(prediction, query)`.

    The devices of `mesh`, all of this process, share the tasks out among themselves.
    """
    tasks = as_task_set(tasks)

    def of_tasks(
        particles: PyTree, data: PyTree, compact_and_keys: tuple[PyTree, Key[Array, " tasks"]]
    ) -> PyTree:
        def one(compact_and_key: tuple[PyTree, Key[Array, ""]]) -> PyTree:
            compact, key = compact_and_key
            task = tasks.expand(data, compact)
            adapted = learner.adapt(particles, task.support, steps=steps, query_x=task.query.x, key=key)
            return of_prediction(learner.predict(adapted, task.query.x), task.query)

        return jax.lax.map(one, compact_and_keys, batch_size=block)

    block = block_size(tasks)
    # The same keys every time: a score then changes because the particles did.
    keys = jax.random.split(jax.random.key(0), len(tasks))
    share = of_tasks if mesh is None else over_tasks(of_tasks, mesh)
    return share(particles, tasks.data, (tasks.compact, keys))


def block_size(tasks: TaskSet) -> int:
    """How many held-out tasks to work on side by side: fifty of a few numbers, few of images."""
    inputs = jax.eval_shape(lambda: [data.x for data in tasks[0]])
    return max(1, min(BLOCK, BLOCK_NUMBERS // max(1, sum(x.size for x in inputs))))


def score_tasks(
    learner: Learner, particles: PyTree, tasks: Task | TaskSet, *, steps: int | None = None
) -> dict[str, Float[Array, ""]]:
    """Every metric of the tasks' queries after adapting to their supports; one number each."""

    def of_prediction(prediction: Any, query: Data) -> dict[str, Any]:
        return score(prediction, query.y, query.mask)

    return summarise(predict_tasks(learner, particles, tasks, of_prediction, steps=steps))


def validate_tasks(
    learner: Learner, particles: PyTree, tasks: Task | TaskSet, *, mesh: Mesh | None = None
) -> dict[str, Float[Array, ""]]:
    """The same, and how much too sure predictions are, if they can be made less sure."""

    def of_prediction(prediction: Any, query: Data) -> dict[str, Any]:
        scores = score(prediction, query.y, query.mask)
        if isinstance(prediction, Sharpenable):
            scores["overconfidence"] = sharpness_curve(prediction, query.y, query.mask)
        return scores

    return summarise(predict_tasks(learner, particles, tasks, of_prediction, mesh=mesh))
