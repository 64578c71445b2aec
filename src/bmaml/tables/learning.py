"""What training rows teach about a column: its kind, its range, its categories, or to leave it out."""

from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from bmaml.errors import BmamlError
from bmaml.tables.cells import days_of, kind_of, numbers_of, parse_numbers, texts_of
from bmaml.tables.columns import (
    MOST_CATEGORIES,
    CategoryColumn,
    DateColumn,
    NumberColumn,
    date_of,
    days_since_1970,
)
from bmaml.tables.spelling import looks_like
from bmaml.tables.targets import ClassTarget, NumberTarget

if TYPE_CHECKING:
    import pandas

# Whole numbers with at most so many different values are classes unless the user says otherwise.
MOST_WHOLE_CLASSES = 10
MOST_CLASSES = 1_000
# A text column is kept if at least this share of rows has a text that other tasks have too: only
# then can it say something about a new task.
SHARED = 0.5


class LeftOut(Exception):  # noqa: N818 - no error: the column is left out, and this says why.
    """A column that tells nothing about new tasks."""


def learn_column(
    series: "pandas.Series", tasks: Int[np.ndarray, " rows"], rows: Int[np.ndarray, " rows"]
) -> NumberColumn | DateColumn | CategoryColumn:
    """How to encode a column, from its training rows.

    Arguments:
        series: the column in the training rows.
        tasks: a number for the task of each.
        rows: which rows of the table they are, for sentences about one of them.

    Raises:
        LeftOut: if it tells nothing about new tasks.
        BmamlError: if it is one of numbers but for a few texts.
    """
    name, kind = str(series.name), kind_of(series)
    if kind == "texts":
        return _learn_category(name, series, tasks, rows)
    if kind == "dates":
        days = days_of(series)
        since = date_of(np.nanmin(days)) if np.isfinite(days).any() else "1970-01-01"
        return DateColumn(name, since, _learn_number(name, days - days_since_1970(since)))
    return _learn_number(name, numbers_of(series))


def learn_target(
    series: "pandas.Series",
    kind: Literal["numbers", "labels"] | None,
    rows: Int[np.ndarray, " rows"],
) -> NumberTarget | ClassTarget:
    """How to encode the target, from its training rows; `kind` None is what it looks like."""
    if kind not in (None, "numbers", "labels"):
        raise ValueError(f"kind is {kind!r}; it can be 'numbers', 'labels' or None.")
    name, found = str(series.name), kind_of(series)
    if found == "dates" and kind != "labels":
        raise BmamlError(
            f"The target {name!r} holds dates: give a number to predict, such as days since a date."
        )
    if kind is None:
        kind = "labels" if found in ("texts", "flags") or _few_whole(series) else "numbers"
        if found == "texts":
            _refuse_lookalike(series, rows)
    if kind == "numbers":
        numbers = _sorted_finite(numbers_of(series, rows))
        if len(numbers) == 0 or numbers[0] == numbers[-1]:
            raise _constant_target(name)
        return NumberTarget(*_mean_and_std(numbers), float(numbers[0]), float(numbers[-1]))
    classes = _classes(series)
    if len(classes) < 2:
        raise _constant_target(name)
    if len(classes) > MOST_CLASSES:
        raise BmamlError(
            f"The target {name!r} has {len(classes):,} classes, more than {MOST_CLASSES:,}: choose "
            "another column, or group them."
        )
    return ClassTarget(classes)


def _refuse_lookalike(series: "pandas.Series", rows: Int[np.ndarray, " rows"]) -> None:
    """Refuse text that seems to mean numbers: as classes it would be a mistake that nobody notices."""
    texts = texts_of(series)
    found = looks_like(texts.values)
    if found is not None:
        write = f"write {found.instead}"
        if found.what == "a date":
            write = "give a number to predict, such as days since a date"
        row = int(rows[texts.codes == found.place][0]) + 1
        raise BmamlError(
            f"The target {str(series.name)!r} holds {found}, in data row {row}: {write}, or ask for "
            "labels (--kind labels) if these are names of classes."
        )
    if len(texts.values) > MOST_WHOLE_CLASSES and _mostly_numbers(texts.values):
        numbers_of(series, rows)  # Names the row with text among the numbers.


def _learn_number(name: str, numbers: Float[np.ndarray, " rows"]) -> NumberColumn:
    finite = _sorted_finite(numbers)
    has_missing = len(finite) < len(numbers)
    if len(finite) == 0:
        raise LeftOut("it is empty in all training rows")
    low, high = float(finite[0]), float(finite[-1])
    if low == high and not has_missing:
        raise LeftOut("it is the same in all training rows")
    # One that is there rather than a mean of two, which can be too large to store.
    fill = float(finite[(len(finite) - 1) // 2])
    return NumberColumn(name, *_mean_and_std(finite), fill, low, high, has_missing)


def _learn_category(
    name: str,
    series: "pandas.Series",
    tasks: Int[np.ndarray, " rows"],
    rows: Int[np.ndarray, " rows"],
) -> CategoryColumn:
    texts = texts_of(series)
    filled = texts.codes >= 0
    has_missing = not bool(filled.all())
    if not filled.any():
        raise LeftOut("it is empty in all training rows")
    if len(texts.values) == 1 and not has_missing:
        raise LeftOut("it is the same in all training rows")
    names_rows = _is_nearly_unique(texts.codes[filled], tasks[filled])
    if (names_rows or len(texts.values) > MOST_CATEGORIES) and _mostly_numbers(texts.values):
        numbers_of(series, rows)  # Names the row with text among the numbers.
    if names_rows:
        raise LeftOut("most of its texts, like names, stand in rows of one task only")
    counts = np.bincount(texts.codes[filled])
    # The commonest, and of equally common ones the first in the alphabet: whatever the order of rows.
    alphabetical = np.argsort(texts.values, kind="stable")
    commonest = alphabetical[np.argsort(-counts[alphabetical], kind="stable")][:MOST_CATEGORIES]
    categories = tuple(sorted(texts.values[commonest].tolist()))
    return CategoryColumn(name, categories, has_missing, len(texts.values) > len(categories))


def _is_nearly_unique(codes: Int[np.ndarray, " rows"], tasks: Int[np.ndarray, " rows"]) -> bool:
    """Whether most rows have a text that no other task has; with one task, that no other row has."""
    counts = np.bincount(codes)
    if tasks.min() == tasks.max():
        return bool(2 * np.count_nonzero(counts) > len(codes))
    # A text is in several tasks if the first and the last of its tasks differ.
    first = np.full(len(counts), tasks.max())
    last = np.full(len(counts), tasks.min())
    np.minimum.at(first, codes, tasks)
    np.maximum.at(last, codes, tasks)
    return bool(counts[first < last].sum() < SHARED * len(codes))


def _mostly_numbers(texts: np.ndarray) -> bool:
    return bool(np.isnan(parse_numbers(texts)).mean() < 0.5)


def _few_whole(series: "pandas.Series") -> bool:
    """Whether there are few different values, all whole numbers."""
    different = np.unique(_sorted_finite(numbers_of(series)))
    whole = (different == np.round(different)) & (np.abs(different) < 2**63)
    return len(different) <= MOST_WHOLE_CLASSES and bool(np.all(whole))


def _classes(series: "pandas.Series") -> tuple[str | int | float | bool, ...]:
    """The different values, as plain as they can be, in order."""
    texts = texts_of(series).values
    if kind_of(series) == "flags":
        return tuple(sorted({text.casefold() == "true" for text in texts}))
    numbers = parse_numbers(texts)
    if not np.isfinite(numbers).all():
        return tuple(sorted(texts.tolist()))
    return tuple(sorted({_plain(text, number) for text, number in zip(texts, numbers, strict=True)}))


def _plain(text: str, number: float) -> int | float:
    """A number as a whole one if it is one; those beyond 2⁵³ are exact in the text only."""
    try:
        return int(text)
    except ValueError:
        return int(number) if number.is_integer() else float(number)


def _sorted_finite(numbers: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " finite"]:
    """Sorted, so that not even rounding depends on the order of rows."""
    return np.sort(numbers[np.isfinite(numbers)])


def _mean_and_std(ordered: Float[np.ndarray, " rows"]) -> tuple[float, float]:
    """Of numbers in order, of any size: squares of large ones must not overflow; 1 if all are one."""
    middle = ordered[0] / 2 + ordered[-1] / 2
    apart = ordered - middle
    largest = float(np.max(np.abs(apart)))
    if ordered[0] == ordered[-1] or largest == 0:
        return float(ordered[0]), 1.0
    std = float(np.std(apart / largest)) * largest
    return float(middle + np.mean(apart / largest) * largest), std or largest


def _constant_target(name: str) -> BmamlError:
    return BmamlError(
        f"The target {name!r} is the same in all training rows: there is nothing to learn, so choose "
        "another column."
    )
