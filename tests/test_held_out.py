"""Tests of scoring on held-out tasks."""

import jax.numpy as jnp

from bmaml.held_out import block_size
from bmaml.tasks import Data, Task
from bmaml.tasks.task_set import TaskSet


def test_images_are_scored_a_few_tasks_at_a_time():
    def tasks(*shape):
        data = Data(jnp.zeros((600, *shape)), jnp.zeros((600, shape[0])))
        return TaskSet(Task(data, data))

    assert block_size(tasks(10, 1)) == 50
    assert block_size(tasks(40, 28, 28, 1)) == 8
    assert block_size(tasks(5, 300, 300, 3)) == 1
