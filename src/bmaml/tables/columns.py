"""How one column of a table becomes inputs: a small class for each kind of column."""

import math
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bmaml.ranges import far_outside, find, told_number, told_rows
from bmaml.tables.cells import days_of, numbers_of, shortened, texts_of
from bmaml.tables.stored import require, take
from bmaml.tables.targets import ClassTarget, NumberTarget

if TYPE_CHECKING:
    import pandas

# An input further out than this many standard deviations says no more than that it is far out.
FURTHEST_INPUT = 20.0
MOST_CATEGORIES = 50
DATE = re.compile(r"\d{4,6}-\d\d-\d\d(T\d\d:\d\d:\d\d)?", re.ASCII)

__all__ = ["CategoryColumn", "ClassTarget", "DateColumn", "NumberColumn", "NumberTarget"]


@dataclass(frozen=True)
class NumberColumn:
    """Standardised numbers; the median stands in for a missing one.

    Arguments:
        name: of the column.
        mean: of the training rows.
        std: of the training rows.
        fill: the median, for cells that are empty or infinite.
        low: the smallest number of the training rows.
        high: the largest.
        has_missing: whether training rows had such cells; a second input then tells them.
    """

    name: str
    mean: float
    std: float
    fill: float
    low: float
    high: float
    has_missing: bool

    @property
    def width(self) -> int:
        """How many inputs it gives."""
        return 1 + self.has_missing

    def encode(self, series: "pandas.Series") -> Float[np.ndarray, "rows width"]:
        """Its inputs, always finite."""
        return self.encode_numbers(numbers_of(series))

    def encode_numbers(self, numbers: Float[np.ndarray, " rows"]) -> Float[np.ndarray, "rows width"]:
        """Its inputs, from numbers with NaN for empty cells."""
        missing = ~np.isfinite(numbers)
        with np.errstate(over="ignore"):
            scaled = (np.where(missing, self.fill, numbers) - self.mean) / self.std
        inputs = np.clip(scaled, -FURTHEST_INPUT, FURTHEST_INPUT)
        return np.stack([inputs, missing][: self.width], axis=1).astype(np.float32)

    def outside(self, series: "pandas.Series") -> str | None:
        """A sentence if rows lie far outside the training range, or lack what never lacked there."""
        return self.outside_numbers(numbers_of(series), told_number)

    def outside_numbers(
        self, numbers: Float[np.ndarray, " rows"], told: Callable[[float], str]
    ) -> str | None:
        """The same from numbers; `told` says one in words."""
        far = far_outside(self.low, self.high, numbers, told)
        found = [] if far is None else [far]
        missing = np.count_nonzero(~np.isfinite(numbers))
        if missing and not self.has_missing:
            found.append(f"{told_rows(missing)} missing or infinite, which no training row was")
        return f"The column {self.name!r}: {'; '.join(found)}." if found else None

    def note(self, series: "pandas.Series") -> str | None:
        """A sentence for whoever trains if cells were filled."""
        return self.note_numbers(numbers_of(series), told_number)

    def note_numbers(
        self, numbers: Float[np.ndarray, " rows"], told: Callable[[float], str]
    ) -> str | None:
        """The same from numbers; `told` says one in words."""
        missing = np.count_nonzero(~np.isfinite(numbers))
        infinite = np.count_nonzero(np.isinf(numbers))
        if missing == 0:
            return None
        return (
            f"The column {self.name!r} is empty{' or infinite' if infinite else ''} in "
            f"{told_rows(missing)}: the median, {told(self.fill)}, stands in"
            f"{', and one more input tells so' if self.has_missing else ''}."
        )

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {"kind": "number", **asdict(self)}

    @staticmethod
    def from_json(values: Any) -> "NumberColumn":
        """The column that `to_json` described."""
        numbers = dict.fromkeys(("mean", "std", "fill", "low", "high"), float)
        taken = take(values, "a column of numbers", kind=str, name=str, has_missing=bool, **numbers)
        column = NumberColumn(**{name: value for name, value in taken.items() if name != "kind"})
        require(column.std > 0, f"std of {column.name!r} is not positive")
        require(column.low <= column.fill <= column.high, f"{column.name!r} has no range")
        return column


@dataclass(frozen=True)
class DateColumn:
    """Dates, as days since the earliest of the training rows; `days` says how these are encoded."""

    name: str
    since: str
    days: NumberColumn

    @property
    def width(self) -> int:
        """How many inputs it gives."""
        return self.days.width

    def encode(self, series: "pandas.Series") -> Float[np.ndarray, "rows width"]:
        """Its inputs, always finite."""
        return self.days.encode_numbers(self._numbers(series))

    def outside(self, series: "pandas.Series") -> str | None:
        """A sentence if rows lie far outside the training range."""
        return self.days.outside_numbers(self._numbers(series), self._date)

    def note(self, series: "pandas.Series") -> str | None:
        """A sentence for whoever trains, on what dates become."""
        filled = self.days.note_numbers(self._numbers(series), self._date)
        return filled or f"The column {self.name!r} counts as days since {self.since}."

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {"kind": "date", "name": self.name, "since": self.since, "days": self.days.to_json()}

    @staticmethod
    def from_json(values: Any) -> "DateColumn":
        """The column that `to_json` described."""
        taken = take(values, "a column of dates", kind=str, name=str, since=str, days=object)
        days = NumberColumn.from_json(taken["days"])
        require(_is_date(taken["since"]), f"since of {taken['name']!r} is not a date")
        require(days.name == taken["name"], f"{taken['name']!r} has days of another name")
        return DateColumn(taken["name"], taken["since"], days)

    def _numbers(self, series: "pandas.Series") -> Float[np.ndarray, " rows"]:
        return days_of(series) - days_since_1970(self.since)

    def _date(self, days: float) -> str:
        return date_of(days_since_1970(self.since) + days)


@dataclass(frozen=True)
class CategoryColumn:
    """One input a category, 1 in rows of that category; any other category has 0 in all of them.

    Arguments:
        name: of the column.
        categories: the commonest of the training rows.
        has_missing: whether training rows had empty cells; one more input then tells them.
        has_other: whether training rows had more categories than these.
    """

    name: str
    categories: tuple[str, ...]
    has_missing: bool
    has_other: bool

    @property
    def width(self) -> int:
        """How many inputs it gives."""
        return len(self.categories) + self.has_missing

    def encode(self, series: "pandas.Series") -> Float[np.ndarray, "rows width"]:
        """Its inputs, 0 or 1."""
        texts = texts_of(series)
        places = np.append(find(self.categories, texts.values), -1)[texts.codes]
        if self.has_missing:
            places = np.where(texts.codes < 0, len(self.categories), places)
        return (places[:, None] == np.arange(self.width)).astype(np.float32)

    def outside(self, series: "pandas.Series") -> str | None:
        """A sentence if rows have categories that no training row had, or lack what none lacked."""
        texts = texts_of(series)
        counts = np.bincount(texts.codes + 1, minlength=len(texts.values) + 1)
        found = []
        unknown = np.flatnonzero(find(self.categories, texts.values) < 0)
        if len(unknown) > 0 and not self.has_other:
            commonest = unknown[np.argmax(counts[unknown + 1])]
            found.append(
                f"{told_rows(counts[unknown + 1].sum())} with what no training row has "
                f"(such as {shortened(str(texts.values[commonest]))})"
            )
        if counts[0] > 0 and not self.has_missing:
            found.append(f"{told_rows(counts[0])} missing, which no training row was")
        return f"The column {self.name!r}: {'; '.join(found)}." if found else None

    def note(self, series: "pandas.Series") -> str | None:
        """A sentence for whoever trains if cells are empty or categories share inputs."""
        missing = np.count_nonzero(texts_of(series).codes < 0)
        found = []
        if self.has_other:
            found.append(
                f"has more than {len(self.categories)} categories, of which the commonest count"
            )
        if missing > 0:
            told = "one more input tells so" if self.has_missing else "none of its inputs is set"
            found.append(f"is empty in {told_rows(missing)}, where {told}")
        return f"The column {self.name!r} {', and '.join(found)}." if found else None

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {"kind": "category", **asdict(self), "categories": list(self.categories)}

    @staticmethod
    def from_json(values: Any) -> "CategoryColumn":
        """The column that `to_json` described."""
        flags = {"has_missing": bool, "has_other": bool}
        taken = take(values, "a column of categories", kind=str, name=str, categories=list, **flags)
        name, categories = taken["name"], taken["categories"]
        texts = all(isinstance(category, str) for category in categories)
        require(texts, f"a category of {name!r} is not text")
        different = len(set(categories)) == len(categories)
        require(different, f"a category of {name!r} comes twice")
        require(0 < len(categories) <= MOST_CATEGORIES, f"{name!r} has {len(categories)} categories")
        return CategoryColumn(name, tuple(categories), taken["has_missing"], taken["has_other"])


def _is_date(text: str) -> bool:
    try:
        return DATE.fullmatch(text) is not None and math.isfinite(days_since_1970(text))
    except ValueError:  # There is no 30th of February.
        return False


def days_since_1970(date: str) -> float:
    """Of a date as `date_of` writes it.

    >>> date_of(days_since_1970("2024-12-31T06:00:00"))
    '2024-12-31T06:00:00'
    """
    return float((np.datetime64(date, "us") - np.datetime64(0, "us")) / np.timedelta64(1, "D"))


def date_of(days: float) -> str:
    """The date, with a time if it is not midnight."""
    told = str(np.datetime64(round(days * 86_400), "s"))
    return told.removesuffix("T00:00:00")
