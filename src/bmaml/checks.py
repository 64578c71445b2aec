"""Numbers that a setting may have; others are refused in a sentence, before they cost a training."""

import math
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np

# JAX makes a key from 32 bits, unless a program asks it for 64: a larger seed would be another's twin.
SEEDS = 2**32


def require_positive(**settings: Any) -> None:
    """Refuse what is not a finite number above zero; arrays of JAX may be traced, and pass unseen."""
    for name, value in settings.items():
        number = isinstance(value, int | float | np.number) and 0 < value < math.inf
        if not number and not isinstance(value, jax.Array):
            raise ValueError(f"{name} is {value!r}; it must be a number above 0.")


def require_counts(**settings: Any) -> None:
    """Refuse what is not a whole number of at least one."""
    _require_whole(1, settings)


def require_whole(**settings: Any) -> None:
    """Refuse what is not a whole number of at least zero."""
    _require_whole(0, settings)


def require_seeds(seeds: Iterable[Any]) -> None:
    """Refuse what is not a whole number that JAX makes a key of its own from."""
    for seed in seeds:
        require_whole(seed=seed)
        if seed >= SEEDS:
            raise ValueError(f"seed is {seed}; it must be below {SEEDS}.")


def _require_whole(least: int, settings: dict[str, Any]) -> None:
    for name, value in settings.items():
        if not isinstance(value, int | np.integer):
            raise ValueError(f"{name} is {value!r}; it must be a whole number.")
        if value < least:
            raise ValueError(f"{name} is {value}; it must be at least {least}.")
