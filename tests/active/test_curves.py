"""Learning curves over many tasks."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.active import curve, curve_of_tasks, split_query
from bmaml.tasks.task import Task
from bmaml.tasks.task_set import TaskSet
from bmaml.trained import Compiled, of_seed
from bmaml.training_state import Example, begin
from tests.active.settings import CLASSES, NUMBERS, POOL, SETTINGS, WAYS, take
from tests.test_sharing import Counter


def trained(setting, seeds=(0,)):
    """As it would be before the first meta-update."""
    learner, example = setting.learner, Example.of(setting.parts[0])
    snapshot = jax.jit(lambda: begin(learner, list(seeds), example.inputs(), 1))()
    compiled = Compiled(learner)
    return [
        of_seed(snapshot, index, seed, learner, [], example, compiled)
        for index, seed in enumerate(seeds)
    ]


def as_they_come(task, key):
    """The first rows of the query as a pool."""
    return take(task.query, jnp.arange(POOL)), take(task.query, jnp.arange(POOL, task.query.y.shape[0]))


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=["classes", "numbers"])
def test_begins_with_plain_evaluation(setting):
    (result,) = trained(setting)
    scores = curve(result, setting.tasks, pool=as_they_come, count=2)
    assert {values.shape for values in scores.values()} == {(3,)}
    judged = jax.vmap(lambda task: Task(task.support, as_they_come(task, None)[1]))(setting.tasks)
    expected = result.evaluate(judged)
    assert scores.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(scores[name][0], value, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=["classes", "numbers"])
def test_is_the_mean_of_the_curves_of_tasks(setting):
    (result,) = trained(setting)
    options = {"pool": POOL, "count": 2}
    mean, each = (
        curve(result, setting.tasks, **options),
        curve_of_tasks(result, setting.tasks, **options),
    )
    assert {values.shape for values in each.values()} == {(4, 3)}
    assert each.keys() == {name for name in mean if not name.endswith("_interval")} - {"ece"}
    for name, values in each.items():
        np.testing.assert_allclose(values.mean(axis=0), mean[name], rtol=1e-4, atol=1e-6)


def test_acquisitions_share_splits_and_differ_only_in_between():
    (result,) = trained(CLASSES)
    options = {"pool": POOL, "restart": True, "steps": 3}
    wise, blind = (curve(result, CLASSES.tasks, name, **options) for name in ("entropy", "random"))
    assert wise["nll"].shape == (POOL + 1,)
    for end in (0, -1):
        np.testing.assert_allclose(wise["nll"][end], blind["nll"][end], rtol=1e-4)
    assert np.any(np.abs(wise["nll"] - blind["nll"]) > 1e-3)
    assert np.all(np.isfinite(wise["accuracy_interval"]))
    # More labels than none, once they are all known.
    assert wise["nll"][-1] < wise["nll"][0]


def test_compact_tasks_and_seeds_share_what_is_compiled():
    calls = Counter()

    def counted(prediction):
        calls.append(1)
        return prediction.entropy

    first, second = trained(CLASSES, seeds=(0, 1))
    compact = TaskSet(jnp.arange(4), CLASSES.tasks, take)
    scores = curve(first, compact, counted, pool=POOL, count=1)
    traced = len(calls)
    others = curve(second, compact, counted, pool=POOL, count=1)
    assert len(calls) == traced
    assert np.any(scores["nll"] != others["nll"])
    whole = curve(first, CLASSES.tasks, pool=POOL, count=1)
    np.testing.assert_allclose(scores["nll"], whole["nll"], rtol=1e-4)


@pytest.mark.parametrize("rows", [POOL, POOL + 2])
def test_a_pool_is_balanced_and_shares_no_row_with_the_query(rows):
    task = jax.tree.map(lambda leaf: leaf[0], CLASSES.tasks)
    split = jax.jit(partial(split_query, rows=rows))
    pools = []
    for seed in range(3):
        pool, query = split(task, jax.random.key(seed))
        counts = np.bincount(pool.y, minlength=WAYS)
        assert counts.sum() == rows
        assert counts.max() - counts.min() <= 1
        everything = np.concatenate([pool.x, query.x])
        np.testing.assert_array_equal(
            everything[np.lexsort(everything.T)], np.asarray(task.query.x)[np.lexsort(task.query.x.T)]
        )
        pools.append(pool.x)
    assert np.any(pools[0] != pools[1])


def test_numbers_are_split_at_random():
    task = jax.tree.map(lambda leaf: leaf[0], NUMBERS.tasks)
    ordered = task._replace(query=take(task.query, jnp.argsort(task.query.x[:, 0])))
    pool, query = jax.jit(partial(split_query, rows=4))(ordered, jax.random.key(0))
    assert (pool.y.shape, query.y.shape) == ((4, 1), (5, 1))
    assert pool.x.max() > query.x.min()


def test_mistakes_get_a_sentence():
    (result,) = trained(CLASSES)
    with pytest.raises(ValueError, match="A pool of 20 rows was asked of tasks with 12 query rows"):
        curve(result, CLASSES.tasks)
    support, query = CLASSES.tasks
    unknown = Task(support, query._replace(y=query.y.at[0, 0].set(-1)))
    with pytest.raises(ValueError, match="labels reach from -1 to 2"):
        curve(result, unknown, pool=POOL)
    with pytest.raises(ValueError, match="'variance' is not for a ClassificationPrediction"):
        curve(result, CLASSES.tasks, "variance", pool=POOL)
