"""However the tasks of a meta-update are divided, the particles are the same."""

import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.sharding import Mesh

from bmaml.scale import device_for_each_core, task_mesh
from bmaml.scale.gradient import loss_and_gradient
from bmaml.scale.mesh import largest_divisor
from tests.scale.small import RECIPE, TOLERANCE, train


@pytest.fixture(scope="module")
def alone():
    return train()


@pytest.fixture(scope="module")
def work():
    """A learner, its particles, and five tasks with their keys."""
    learner, source = RECIPE.learner(), RECIPE.task_source()
    training_set = source.training_set(jax.random.key(0))
    tasks = source.batch(training_set, jax.random.key(1), 5)
    particles = learner.init(jax.random.key(2), tasks.support.x[0])
    return learner, particles, tasks, jax.random.split(jax.random.key(3), 5)


@pytest.mark.parametrize("size", [2, 5, 9])
def test_blocks_of_tasks_add_up(work, size):
    learner, *arguments = work
    whole = jax.jit(loss_and_gradient(learner))(*arguments)
    parts = jax.jit(loss_and_gradient(learner, tasks_at_once=size))(*arguments)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4), parts, whole)


def test_a_gradient_block_by_block_needs_less_memory(work):
    learner, particles, _, _ = work
    source = RECIPE.task_source()
    tasks = source.batch(source.training_set(jax.random.key(0)), jax.random.key(1), 16)
    keys = jax.random.split(jax.random.key(3), 16)

    def temporary_bytes(tasks_at_once):
        function = jax.jit(loss_and_gradient(learner, tasks_at_once=tasks_at_once))
        analysis = function.lower(particles, tasks, keys).compile().memory_analysis()
        return analysis.temp_size_in_bytes

    assert temporary_bytes(2) < 0.5 * temporary_bytes(None)


def test_devices_change_nothing_but_rounding(alone, tmp_path, pytestconfig):
    root = pytestconfig.rootpath
    subprocess.run(
        [sys.executable, "-m", "tests.scale.small", str(tmp_path / "found.npz")],
        cwd=root,
        env={**os.environ, "JAX_NUM_CPU_DEVICES": "4", "PYTHONPATH": f"{root / 'src'}:{root}"},
        check=True,
        timeout=600,
    )
    found = np.load(tmp_path / "found.npz")
    np.testing.assert_allclose(found["two"], alone, **TOLERANCE)
    np.testing.assert_allclose(found["four"], alone, **TOLERANCE)
    assert np.max(np.abs(found["fewer"] - alone)) > 1e-3, "fewer updates should differ by more"
    assert "6 tasks a meta-update cannot be shared out evenly over 4 devices" in str(found["refused"])
    np.testing.assert_array_equal(found["uneven"], [0.0, 2.0, 4.0, 6.0, 8.0])


@pytest.mark.parametrize(("batch_size", "asked"), [(1, None), (16, None), (16, "3")])
def test_a_processor_is_divided_as_far_as_the_batch_goes(batch_size, asked):
    program = (
        "import jax; from bmaml.scale import device_for_each_core\n"
        f"print(device_for_each_core({batch_size}), jax.local_device_count())"
    )
    environment = os.environ if asked is None else {**os.environ, "JAX_NUM_CPU_DEVICES": asked}
    answer = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    )
    chosen, available = map(int, answer.stdout.split())
    assert available == (len(os.sched_getaffinity(0)) if asked is None else int(asked))
    assert chosen == largest_divisor(batch_size, available)


def test_devices_that_are_there_already_stay():
    jax.devices()
    assert device_for_each_core(16) == jax.local_device_count() == 1


def test_what_does_not_fit_gets_a_sentence():
    with pytest.raises(ValueError, match="64 devices were asked for, and this process has 1"):
        task_mesh(64)
    with pytest.raises(ValueError, match="mesh with one axis"):
        task_mesh(Mesh(np.array(jax.devices()).reshape(1, 1), ("tasks", "model")))
    with pytest.raises(ValueError, match="tasks_at_once is 0"):
        train(tasks_at_once=0)
    assert task_mesh(1) is task_mesh(None) is None
