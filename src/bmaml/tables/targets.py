"""How the column to predict becomes targets: numbers to standardise, or classes to number."""

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int

from bmaml.ranges import far_outside, find, told_number
from bmaml.tables.cells import numbers_of, parse_numbers, shortened, text_of, texts_of
from bmaml.tables.stored import require, take

if TYPE_CHECKING:
    import pandas

# Targets keep their size, but their squares must stay finite in single precision.
FURTHEST_TARGET = 1e15
MOST_TOLD = 5


@dataclass(frozen=True)
class NumberTarget:
    """Numbers to predict, standardised; `low` and `high` are the training range."""

    mean: float
    std: float
    low: float
    high: float

    def encode(self, series: "pandas.Series") -> Float[np.ndarray, "rows 1"]:
        """Targets, NaN where there is none: where a cell is empty or infinite."""
        numbers = numbers_of(series)
        with np.errstate(over="ignore"):
            scaled = (np.where(np.isinf(numbers), np.nan, numbers) - self.mean) / self.std
        return np.clip(scaled, -FURTHEST_TARGET, FURTHEST_TARGET).astype(np.float32)[:, None]

    def told(self, name: str) -> str:
        """What the target called `name` was taken for."""
        low, high = told_number(self.low), told_number(self.high)
        return f"The target {name!r} is taken for numbers, {low} to {high} in training tasks."

    def outside(self, series: "pandas.Series") -> str | None:
        """A sentence if targets lie far outside the training range."""
        found = far_outside(self.low, self.high, numbers_of(series), told_number)
        return f"The target {str(series.name)!r}: {found}." if found else None

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {"kind": "numbers", **asdict(self)}

    @staticmethod
    def from_json(values: Any) -> "NumberTarget":
        """The target that `to_json` described."""
        taken = take(values, "the target", kind=str, mean=float, std=float, low=float, high=float)
        require(taken["std"] > 0, "std of the target is not positive")
        require(taken["low"] < taken["high"], "the target has no range")
        return NumberTarget(taken["mean"], taken["std"], taken["low"], taken["high"])


@dataclass(frozen=True)
class ClassTarget:
    """Classes to predict; their places in `classes` are the labels."""

    classes: tuple[str | int | float | bool, ...]

    def encode(self, series: "pandas.Series") -> Int[np.ndarray, " rows"]:
        """Labels; -1 where the cell is empty, -2 where it holds a class that is not known."""
        texts = texts_of(series)
        names = tuple(text_of(name) for name in self.classes)
        places = find(names, texts.values)
        if not isinstance(self.classes[0], str):
            # The same number in other words, such as "1.0" in a column that holds text elsewhere.
            numbers = parse_numbers(texts.values)
            places = np.where(places < 0, find(tuple(map(float, self.classes)), numbers), places)
        return np.append(np.where(places < 0, -2, places), -1)[texts.codes].astype(np.int32)

    def told(self, name: str) -> str:
        """What the target called `name` was taken for."""
        some = ", ".join(shortened(text_of(label)) for label in self.classes[:MOST_TOLD])
        more = ", …" if len(self.classes) > MOST_TOLD else ""
        return f"The target {name!r} is taken for {len(self.classes)} classes: {some}{more}."

    def outside(self, series: "pandas.Series") -> str | None:
        """Never: a class that is not known is an error elsewhere."""
        return None

    def to_json(self) -> dict[str, Any]:
        """Plain values for a JSON file."""
        return {"kind": "labels", "classes": list(self.classes)}

    @staticmethod
    def from_json(values: Any) -> "ClassTarget":
        """The target that `to_json` described."""
        classes = take(values, "the target", kind=str, classes=list)["classes"]
        plain = all(isinstance(name, str | int | float) and name == name for name in classes)
        require(plain, "a class is neither text nor a number")
        alike = len({isinstance(name, str) for name in classes}) == 1
        require(alike and len(classes) >= 2, "the target has no two classes of one kind")
        require(len(set(map(text_of, classes))) == len(classes), "a class of the target comes twice")
        return ClassTarget(tuple(classes))
