"""Many tasks at once give what one by one would."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bmaml
from bmaml.many import ROWS_AT_ONCE, TASKS_AT_ONCE, Groups, predict_many
from bmaml.tables.predictions import KeepNumbers
from bmaml.tasks import Sinusoid

SUPPORT = np.array([0, 3, 1, 9, 3] + [2] * TASKS_AT_ONCE)
QUERY = np.array([2, 0, 1, ROWS_AT_ONCE + 44, 5] + [3] * TASKS_AT_ONCE)


@pytest.fixture(scope="module")
def trained():
    learner = bmaml.bmaml(bmaml.models.mlp(1, 1, hidden=(8,)), num_particles=3)
    return bmaml.fit(learner, Sinusoid(num_tasks=10), steps=5, batch_size=5, progress=False)


def groups(counts, seed, targets=False):
    random = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = int(counts.sum())
    y = random.normal(size=(rows, 1)).astype(np.float32) if targets else None
    return Groups(random.normal(size=(rows, 1)).astype(np.float32), starts, counts, y)


def test_every_row_is_predicted_as_by_its_task_alone(trained):
    support, query = groups(SUPPORT, 0, targets=True), groups(QUERY, 1)
    keep = KeepNumbers()
    found = predict_many(trained, support, query, keep)
    for task in (2, 3, 4, 10):
        mine = slice(support.starts[task], support.starts[task] + support.counts[task])
        asked = slice(query.starts[task], query.starts[task] + query.counts[task])
        alone = keep(trained.adapt(support.x[mine], support.y[mine]).predict(query.x[asked]))
        for name, values in alone.items():
            np.testing.assert_allclose(found[name][asked], values, rtol=2e-4, atol=2e-4, err_msg=name)


def test_no_support_at_all_is_adapting_to_nothing(trained):
    support = groups(np.zeros(2, int), 0, targets=True)
    query = groups(np.array([2, 3]), 1)
    found = predict_many(trained, support, query, KeepNumbers())
    nothing = bmaml.tasks.Data(jnp.zeros((1, 1)), jnp.zeros((1, 1)), jnp.zeros(1, bool))
    prior = trained.learner.predict(
        trained.learner.adapt(trained.particles, nothing), jnp.asarray(query.x)
    )
    np.testing.assert_allclose(found["mean"], prior.mean[:, 0], rtol=1e-4, atol=1e-5)


def test_few_compiled_shapes_serve_many_sizes(trained):
    before = trained.compiled.adapt_many._cache_size()
    for tasks in range(1, 20):
        counts = np.full(tasks, 5)
        predict_many(trained, groups(counts, 0, targets=True), groups(counts, 1), KeepNumbers())
    assert trained.compiled.adapt_many._cache_size() - before <= 6  # 1, 2, 4, 8, 16, 32 tasks


def test_nothing_to_predict_is_named(trained):
    none = groups(np.zeros(1, int), 0, targets=True)
    with pytest.raises(ValueError, match="no rows to predict"):
        predict_many(trained, none, groups(np.zeros(1, int), 1), KeepNumbers())


def test_predictions_do_not_depend_on_the_company(trained):
    counts = np.array([4, 4])
    support, query = groups(counts, 0, targets=True), groups(counts, 1)
    both = predict_many(trained, support, query, KeepNumbers())
    first = jax.tree.map(lambda leaf: leaf[:4], both)
    alone = predict_many(
        trained,
        Groups(support.x[:4], support.starts[:1], counts[:1], support.y[:4]),
        Groups(query.x[:4], query.starts[:1], counts[:1]),
        KeepNumbers(),
    )
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5), first, alone)
