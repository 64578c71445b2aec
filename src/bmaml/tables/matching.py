"""Which tasks of a support are those that are asked about."""

import warnings
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from bmaml.errors import BmamlError
from bmaml.ranges import told_count
from bmaml.tables.cells import plain_name, shortened

MOST_EXAMPLES = 3


def match_names(known: Sequence[str], asked: Sequence[str]) -> Int[np.ndarray, " asked"]:
    """The place in `known` of each name that is asked about, or -1.

    One file may say 76 where another says 76.0; but where both are there, they are two.

    >>> match_names(["75", "76.0", "76"], ["76", "75.0", "77"])
    array([ 2,  0, -1])
    """
    places = {name: place for place, name in enumerate(known)}
    taken = set(asked)
    plain = {plain_name(name): place for name, place in places.items() if name not in taken}
    found = [places.get(name, plain.get(plain_name(name), -1)) for name in asked]
    return np.array(found, np.int64)


def require_common(
    known: Sequence[str],
    asked: Sequence[str],
    found: Int[np.ndarray, " asked"],
    *,
    task: str | None,
    what: str,
    warn: bool,
) -> None:
    """Refuse a support that says nothing about what is asked; warn of tasks in only one of the two.

    Arguments:
        known: the names of the support's tasks.
        asked: those of the tasks that are asked about.
        found: what `match_names` made of them.
        task: the column of names, for sentences.
        what: the table that asks, for sentences.
        warn: whether to.
    """
    if len(asked) == 0:
        return
    used = set(found.tolist())
    unasked = [name for place, name in enumerate(known) if place not in used]
    unknown = [asked[place] for place in np.flatnonzero(found < 0).tolist()]
    if len(unknown) == len(asked):
        raise BmamlError(
            f"No row of the support is of a task of the {what}: the column {task!r} holds "
            f"{some_of(known)} in the support and {some_of(asked)} in the {what}, so give rows of the "
            "same tasks, or leave the support out."
        )
    sentences = []
    if unknown:
        sentences.append(
            f"{len(unknown):,} of {told_count(len(asked), 'task')} of the {what} ({some_of(unknown)}) "
            f"{_have(unknown)} no support rows, so that nothing but the prior is known of "
            f"{'it' if len(unknown) == 1 else 'them'}"
        )
    if unasked:
        sentences.append(
            f"{len(unasked):,} of {told_count(len(known), 'task')} of the support ({some_of(unasked)}) "
            f"{_have(unasked)} no rows in the {what} and {'does' if len(unasked) == 1 else 'do'} not "
            "count"
        )
    if warn and sentences:
        warnings.warn("; ".join(sentences) + ".", stacklevel=5)


def _have(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


def some_of(names: Sequence[str]) -> str:
    """A few names in quotes.

    >>> some_of(["a", "b", "c", "d"])
    "'a', 'b', 'c', …"
    """
    told = ", ".join(map(shortened, names[:MOST_EXAMPLES]))
    return told + (", …" if len(names) > MOST_EXAMPLES else "")
