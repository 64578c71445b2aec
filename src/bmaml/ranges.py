"""Whether values are among, or near, those that training saw; and how to say so."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

# Beyond the training range by more than this share of it is far outside.
MARGIN = 0.25


def find(known: tuple, values: np.ndarray) -> Int[np.ndarray, " values"]:
    """The place of each value in `known`, or -1; this goes over different values, not over rows."""
    place = {value: index for index, value in reversed(list(enumerate(known)))}
    return np.array([place.get(value, -1) for value in values.tolist()], np.int64)


def far_outside(
    low: float,
    high: float,
    numbers: Float[np.ndarray, " rows"],
    told: Callable[[float], str],
    unit: str = "row",
) -> str | None:
    """What to say of numbers far outside a range, if there are any; `told` says one in words."""
    with np.errstate(over="ignore"):
        beyond = np.maximum(numbers - high, low - numbers)
    beyond = np.where(np.isfinite(numbers), beyond, -np.inf)
    # Not of the difference: that of very large numbers is infinite.
    far = np.count_nonzero(beyond > MARGIN * high - MARGIN * low)
    if far == 0:
        return None
    worst = told(float(numbers[np.argmax(beyond)]))
    told_range = f"{told(low)} to {told(high)} of training"
    return f"{told_count(far, unit)} far outside {told_range} (worst: {worst})"


def told_rows(count: int | np.integer) -> str:
    """A number of rows in words.

    >>> told_rows(1), told_rows(1200)
    ('1 row', '1,200 rows')
    """
    return told_count(count, "row")


def told_count(count: int | np.integer, unit: str) -> str:
    """How many there are of something.

    >>> told_count(2, "picture")
    '2 pictures'
    """
    return f"{count:,} {unit}{'' if count == 1 else 's'}"


def told_number(number: float) -> str:
    """A number in a few digits."""
    return f"{number:.6g}"
