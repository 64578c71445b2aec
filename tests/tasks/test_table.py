"""Episodes of rows of a table: who is in them, and what they never mix."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.tables import Encoding, NumberColumn, NumberTarget
from bmaml.tables.prepare import Prepared, TaskRows
from bmaml.tasks import TableTasks
from bmaml.tasks.table import WINDOW

SIZES = (2, 3, 30, 700)


def rows_of(sizes=SIZES):
    """Tasks whose x tells the task and the row, and whose y repeats the row."""
    counts = np.array(sizes, np.int32)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
    task = np.repeat(np.arange(len(sizes)), counts)
    row = np.arange(counts.sum()) - starts[task]
    x = np.stack([task, row], axis=1).astype(np.float32)
    return TaskRows(
        x, row[:, None].astype(np.float32), starts, counts, tuple(map(str, range(len(sizes))))
    )


def tasks_of(shots=5, sizes=SIZES):
    part = rows_of(sizes)
    features = tuple(NumberColumn(name, 0.0, 1.0, 0.0, -1.0, 1.0, False) for name in ("task", "row"))
    encoding = Encoding("who", "y", features, NumberTarget(0.0, 1.0, -1.0, 1.0))
    parts = dict.fromkeys(("train", "validation", "test"), part)
    return TableTasks(Prepared(encoding, parts, ()), shots)


@pytest.fixture(scope="module")
def batches():
    tasks = tasks_of()
    rows = tasks.training_set(jax.random.key(0))
    draw = jax.jit(lambda key: tasks.batch(rows, key, len(SIZES)))
    return [draw(jax.random.key(seed)) for seed in range(200)]


def counted(data):
    """The rows that count, task by task: sets of (task, row)."""
    return [
        {tuple(row) for row in np.asarray(x)[np.asarray(mask)]}
        for x, mask in zip(data.x, data.mask, strict=True)
    ]


def test_an_episode_is_of_one_task_and_no_row_is_in_it_twice(batches):
    for batch in batches:
        for support, query, mask in zip(
            counted(batch.support), counted(batch.query), batch.query.mask, strict=True
        ):
            assert len({task for task, _ in support | query}) == 1
            assert not support & query
            assert len(query) == int(mask.sum()) >= 1
            assert all(row < SIZES[int(task)] for task, row in support | query)
        assert {int(min(query)[0]) for query in counted(batch.query)} == set(range(len(SIZES)))


def test_targets_stay_with_their_inputs(batches):
    for data in (part for batch in batches[:20] for part in batch):
        np.testing.assert_array_equal(data.x[..., 1], data.y[..., 0])


def test_every_number_of_support_rows_and_every_row_turns_up(batches):
    sizes, seen = (
        {task: set() for task in range(len(SIZES))},
        {task: set() for task in range(len(SIZES))},
    )
    for batch in batches:
        for support, query in zip(counted(batch.support), counted(batch.query), strict=True):
            task = int(min(query)[0])
            sizes[task].add(len(support))
            seen[task] |= support | query
    assert sizes == {0: {0, 1}, 1: {0, 1, 2}, 2: set(range(6)), 3: set(range(6))}
    assert [len(seen[task]) for task in range(3)] == [2, 3, 30]
    assert len(seen[3]) > WINDOW  # rows of a large task beyond one stretch


def test_the_query_is_the_same_for_every_number_of_support_rows_and_supports_grow():
    tasks = tasks_of()
    episodes = {count: tasks.episodes("test", count, repeats=3) for count in (0, 1, 4)}
    for count, (made, numbers) in episodes.items():
        assert set(numbers) == {task for task, size in enumerate(SIZES) if size > count}
        assert np.all(np.asarray(made[:].support.mask).sum(axis=1) == count)
    few, few_numbers = episodes[1]
    many, many_numbers = episodes[4]
    keep = np.isin(few_numbers, many_numbers)
    few_query = [query for query, kept in zip(counted(few[:].query), keep, strict=True) if kept]
    few_support = [part for part, kept in zip(counted(few[:].support), keep, strict=True) if kept]
    assert few_query == counted(many[:].query)
    assert all(a < b for a, b in zip(few_support, counted(many[:].support), strict=True))


def test_held_out_episodes_are_many_and_the_same_every_time():
    first, second = tasks_of().held_out("validation"), tasks_of().held_out("validation")
    assert len(first) >= 300
    jax.tree.map(np.testing.assert_array_equal, first[:], second[:])
    assert {int(rows) for rows in np.asarray(first[:].support.mask).sum(axis=1)} == set(range(6))


def test_too_large_a_batch_and_too_many_support_rows_are_named():
    tasks = tasks_of()
    rows = tasks.training_set(jax.random.key(0))
    with pytest.raises(ValueError, match="5 tasks was asked of a table with 4"):
        tasks.batch(rows, jax.random.key(0), 5)
    with pytest.raises(ValueError, match="trained for 0 to 5"):
        tasks.episodes("test", 6)
    with pytest.raises(ValueError, match="at least one support row"):
        tasks_of(shots=0)


def test_the_default_number_of_shots_suits_the_tasks():
    assert tasks_of(None, (12, 12, 13)).most_support == 6
    assert tasks_of(None, (2, 2, 3)).most_support == 1
    assert tasks_of(None, (500, 800, 900)).most_support == 10


def test_all_fills_are_finite(batches):
    for leaf in jax.tree.leaves(batches[0]):
        assert bool(jnp.all(jnp.isfinite(leaf.astype(jnp.float32))))
