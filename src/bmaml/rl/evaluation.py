"""Returns on tasks that training never saw, before and after adaptation."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml.checks import require_counts, require_whole
from bmaml.rl.play import Player, summarise
from bmaml.rl.rollout import draw_tasks

# Far from the seeds that users choose; the same tasks for every seed of a training.
SPLITS = {"validation": 2**31 - 1, "test": 2**31 - 2}
# How many test tasks, unless said otherwise.
TEST_TASKS = 40
# Tasks that are played at once: more would not be faster, and memory stays small.
BLOCK = 20


def held_out_returns(
    player: Player,
    initial: PyTree,
    split: Literal["validation", "test"],
    count: int,
    *,
    steps: int | None = None,
) -> dict[str, Float[Array, ""]]:
    """The summary of `count` held-out tasks; their noise is the same every time."""
    return summarise(returns_by_task(player, initial, split, count, steps=steps))


def returns_by_task(
    player: Player,
    initial: PyTree,
    split: Literal["validation", "test"],
    count: int,
    *,
    steps: int | None = None,
) -> Float[Array, "steps task particle"]:
    """The mean return of every held-out task and particle after 0, 1, … steps of adaptation."""
    require_counts(tasks=count)
    if steps is not None:
        require_whole(steps=steps)
    task_key, play_key = jax.random.split(jax.random.key(SPLITS[split]))
    tasks = draw_tasks(player.environment, task_key, count)
    blocks = [
        player(
            initial,
            jax.tree.map(lambda leaf, begin=begin: leaf[begin : begin + BLOCK], tasks),
            jax.random.fold_in(play_key, begin),
            steps=steps,
        ).returns
        for begin in range(0, count, BLOCK)
    ]
    return jnp.concatenate(blocks, axis=1)
