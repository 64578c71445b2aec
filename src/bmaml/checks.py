"""Numbers that a setting may have; others are refused in a sentence, before they cost a training."""

import math
from typing import Any


def require_positive(**settings: Any) -> None:
    """Refuse what is not a finite number above zero; arrays, which may be traced, pass unseen."""
    for name, value in settings.items():
        if isinstance(value, int | float) and not 0 < value < math.inf:
            raise ValueError(f"{name} is {value}; it must be a number above 0.")


def require_counts(**settings: int) -> None:
    """Refuse what is not at least one."""
    for name, value in settings.items():
        if value < 1:
            raise ValueError(f"{name} is {value}; it must be at least 1.")
