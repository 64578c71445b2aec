"""The names of a table's columns: all that are needed must be there, once."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

from bmaml.errors import BmamlError

if TYPE_CHECKING:
    import pandas

MOST_NAMES = 15


def require_names(
    found: Sequence[str], needed: Sequence[str], what: str = "The table", *, all_names: bool = False
) -> None:
    """Refuse a table that lacks columns or has two of one name.

    Arguments:
        found: the names that it has.
        needed: those that it must have.
        what: the table, for the sentence.
        all_names: whether names that are not needed must differ, too.
    """
    times = Counter(found)
    missing = [name for name in dict.fromkeys(needed) if name not in times]
    if missing:
        near = [(name, other) for name in missing for other in found if _alike(name, other)]
        told = f", but {near[0][1]!r}: call it {near[0][0]!r}" if near else f": it has {_listed(found)}"
        raise BmamlError(f"{what} has no column {_listed(missing)}{told}.")
    wanted = found if all_names else needed
    twice = [name for name in dict.fromkeys(wanted) if times[name] > 1]
    if twice:
        raise BmamlError(f"{what} has more than one column {_listed(twice)}: give each its own name.")


def require_columns(
    frame: "pandas.DataFrame", needed: Sequence[str], *, all_names: bool = False
) -> "pandas.DataFrame":
    """The frame, whose names are text now, if it has the columns that are needed."""
    names = [str(name) for name in frame.columns]
    require_names(names, needed, all_names=all_names)
    if any(not isinstance(name, str) for name in frame.columns):
        frame = frame.set_axis(names, axis=1)
    return frame


def column_of(frame: "pandas.DataFrame", name: str | int) -> "pandas.Series":
    """A column that `require_columns` found."""
    return cast("pandas.Series", frame[name])


def _alike(one: str, other: str) -> bool:
    """Whether two names differ in no more than capital letters, blanks and the like.

    >>> _alike("body_mass", " Body mass"), _alike("x1", "x2")
    (True, False)
    """
    plain, again = (re.sub(r"[\W_]+", "", name).casefold() for name in (one, other))
    return plain == again != ""


def _listed(names: Sequence[str]) -> str:
    """Some names in quotes.

    >>> _listed(["a", "b"])
    "'a', 'b'"
    """
    told = ", ".join(repr(name) for name in names[:MOST_NAMES])
    return (told or "none") + (
        f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    )
