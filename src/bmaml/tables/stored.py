"""Values out of a JSON file, which anyone may have changed."""

import math
from typing import Any

from bmaml.errors import BmamlError


def damaged(what: str) -> BmamlError:
    """The sentence for stored values that `to_json` cannot have written."""
    return BmamlError(
        f"The stored encoding of the table is damaged ({what}): restore the file from a backup or "
        "train again."
    )


def take(values: Any, what: str, **kinds: type) -> dict[str, Any]:
    """`values`, if it is a mapping of just the names in `kinds` to values of their types.

    Whole numbers pass as float, but neither True nor infinity does; `object` is anything.

    >>> take({"std": 2}, "a column", std=float)
    {'std': 2.0}
    """
    if not isinstance(values, dict) or set(values) != set(kinds):
        raise damaged(f"{what} should have {', '.join(sorted(kinds))}")
    return {name: _typed(values[name], f"{name} of {what}", kind) for name, kind in kinds.items()}


def _typed(value: Any, what: str, kind: type) -> Any:
    if kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        try:
            value = float(value)
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise damaged(f"{what} is not finite")
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise damaged(f"{what} is not {'a number' if kind is float else f'of type {kind.__name__}'}")
    return value


def require(condition: bool, what: str) -> None:
    """Refuse stored values that contradict each other."""
    if not condition:
        raise damaged(what)
