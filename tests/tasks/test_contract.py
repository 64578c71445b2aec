"""Every source of tasks in the registry passes these; those that read files, on made-up ones."""

from collections.abc import Callable
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from bmaml.tasks import TASK_SOURCES, TaskSource
from bmaml.tasks.source import require_split
from bmaml.tasks.task_set import as_task_set
from tests.tasks.images.made_up import paint
from tests.tasks.test_table import tasks_of


def pictures(folder: Path) -> dict[str, Any]:
    for kind in range(15):
        for picture in range(4):
            paint(folder / f"class {kind}" / f"{picture}.png", seed=4 * kind + picture)
    return {"folder": str(folder), "size": 8, "ways": 2, "query_shots": 2}


# What a source cannot be made without, or would take long with. A new source needs no entry if it has
# defaults for all of its options.
OPTIONS: dict[str, Callable[[Path], dict[str, Any]]] = {
    "glyphs": lambda folder: {"instances": 4, "ways": 2, "query_shots": 2, "held_out_query": 2},
    "folder": pictures,
    "table": lambda folder: {"prepared": tasks_of().prepared},
}
# Their layouts are too large to make up; tests/tasks/images has the real ones.
NEED_REAL_FILES = {"omniglot", "miniimagenet"}


@pytest.fixture(params=[name for name in TASK_SOURCES if name not in NEED_REAL_FILES])
def source(request, tmp_path, monkeypatch) -> TaskSource:
    monkeypatch.setenv("BMAML_CACHE", str(tmp_path / "cache"))
    kind: Any = TASK_SOURCES[request.param]
    options = OPTIONS.get(request.param, lambda folder: {})(tmp_path / "pictures")
    needed = {
        option.name
        for option in fields(kind)
        if option.default is MISSING and option.default_factory is MISSING
    }
    assert needed <= set(options), "give the source defaults, or say in OPTIONS how to make it"
    return kind(**options)


def test_tasks_have_the_rows_that_the_source_tells_of(source):
    training_set = source.training_set(jax.random.key(0))
    draw = jax.jit(lambda rows, key: source.batch(rows, key, 3))
    batch = draw(training_set, jax.random.key(1))
    support, query = batch
    assert support.x.shape[0] == query.x.shape[0] == support.y.shape[0] == query.y.shape[0] == 3
    assert support.x.shape[2:] == query.x.shape[2:]
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(batch))
    # The same key draws the same tasks, another one others.
    again, other = draw(training_set, jax.random.key(1)), draw(training_set, jax.random.key(2))
    for one, same in zip(jax.tree.leaves(batch), jax.tree.leaves(again), strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(query.x, other.query.x)


def test_tasks_are_held_out_the_same_for_every_training(source):
    validation, test = as_task_set(source.held_out("validation")), as_task_set(source.held_out("test"))
    again = as_task_set(source.held_out("test"))
    assert len(validation) > 0
    task, same = test[0], again[0]
    for one, other in zip(jax.tree.leaves(task), jax.tree.leaves(same), strict=True):
        np.testing.assert_array_equal(one, other)
    batch = source.batch(source.training_set(jax.random.key(0)), jax.random.key(1), 2)
    assert task.support.x.shape[1:] == batch.support.x.shape[2:]
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(task))


def test_a_source_that_draws_its_test_tasks_draws_as_many_as_wanted(source):
    if type(source).with_test_tasks is TaskSource.with_test_tasks:
        with pytest.raises(ValueError, match="has the test tasks that its data have"):
            source.with_test_tasks(7)
        return
    more = source.with_test_tasks(7)
    assert len(as_task_set(more.held_out("test"))) == 7
    assert type(more) is type(source)
    with pytest.raises(ValueError, match="at least 1"):
        source.with_test_tasks(0)


def test_a_split_that_there_is_not_is_refused_by_name():
    with pytest.raises(ValueError, match="no held-out split 'tset': use 'validation' or 'test'"):
        require_split("tset")
