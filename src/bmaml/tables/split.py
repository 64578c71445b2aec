"""Whole tasks set apart for validation and test."""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np

from bmaml.errors import BmamlError

Part = Literal["train", "validation", "test"]


def split_tasks(
    names: Sequence[Hashable],
    *,
    validation_share: float = 0.15,
    test_share: float = 0.15,
    seed: int = 0,
) -> dict[Part, list]:
    """Deal tasks out to the three parts, at random but the same for a seed whatever their order.

    Arguments:
        names: of the tasks; one that comes more often is one task.
        validation_share: of the tasks, to choose a checkpoint by; at least one, none only for 0.
        test_share: of the tasks, for the final score; likewise.
        seed: of the random choice.

    >>> split_tasks(["a", "b", "c", "d"], seed=1)
    {'train': ['a', 'b'], 'validation': ['c'], 'test': ['d']}
    """
    shares: dict[Part, float] = {"validation": validation_share, "test": test_share}
    if not all(0 <= share < 1 for share in shares.values()) or not sum(shares.values()) < 1:
        raise BmamlError(
            f"The shares of tasks for validation ({validation_share:g}) and test ({test_share:g}) must "
            "be 0 or more and leave some for training."
        )
    if seed < 0:
        raise BmamlError(f"The seed is {seed}, but it must be 0 or more.")
    tasks = sorted(set(names), key=lambda name: (str(name), type(name).__name__))
    needed = 1 + sum(share > 0 for share in shares.values())
    if len(tasks) < needed:
        found = "is 1 task" if len(tasks) == 1 else f"are {len(tasks)} tasks"
        raise BmamlError(
            f"There {found} of two or more rows with a target, but training, validation and test need "
            f"{needed}: give a table with more tasks, or name another column of tasks."
        )
    order = np.random.default_rng(seed).permutation(len(tasks))
    sizes = {part: max(round(share * len(tasks)), int(share > 0)) for part, share in shares.items()}
    while sum(sizes.values()) >= len(tasks):  # Of few tasks, one at least stays to train on.
        sizes[max(sizes, key=lambda part: sizes[part])] -= 1
    ends = np.cumsum([len(tasks) - sum(sizes.values()), *sizes.values()])
    dealt = np.split(order, ends[:-1])
    parts: tuple[Part, ...] = ("train", "validation", "test")
    return {
        part: [tasks[place] for place in sorted(places)]
        for part, places in zip(parts, dealt, strict=True)
    }
