"""Text that means numbers or dates, but is not written the way they are read."""

import re
from collections import Counter
from typing import NamedTuple

import numpy as np

from bmaml.tables.cells import parse_numbers, shortened

# Different texts to look at, which is enough to tell what most are.
SAMPLE = 1_000
# Of fewer different texts with a unit or letters behind a number, names are as likely: 2D, 3D.
FEWEST_WITH_UNIT = 11
# No number or date is longer, and a long text would take long to compare.
LONGEST = 40

GROUPS = re.compile(r"[+-]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?")
COMMA = re.compile(r"[+-]?(\d+|\d{1,3}([. \u00a0\u202f]\d{3})+),\d+")
UNIT = re.compile(
    r"(?P<before>[$€£]?)\s?(?P<number>[+-]?\d+([.,]\d+)?)\s?(?P<after>([^\W\d_]|[%°€$£])*[%°/²³\w]*)"
)
ORDINAL = re.compile(r"\d*(st|nd|rd|th)")
DATE = re.compile(
    r"(\d{1,2}[./-]\d{1,2}[./-]\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{4}[./]\d{1,2}[./]\d{1,2}"
    r"|\d{1,2}\.?[ -][^\W\d]{3,9}\.?[ -]\d{4})([ T,]+\d{1,2}:\d\d.*)?"
)


class Lookalike(NamedTuple):
    """What most texts of a column look like, by the example of the one at `place`."""

    place: int
    example: str
    what: str
    instead: str

    def __str__(self) -> str:
        return f"text such as {shortened(self.example)}, which looks like {self.what}"


def looks_like(texts: np.ndarray) -> Lookalike | None:
    """What most of the different texts of a column seem to mean, if it is numbers or dates.

    >>> looks_like(np.array(["980", "1,050", "2,100"], object)).instead
    '1050'
    >>> looks_like(np.array(["red", "1,050"], object)) is None
    True
    """
    some = [str(text).strip() for text in texts[:SAMPLE]]
    dates = [text for text in some if len(text) <= LONGEST and DATE.fullmatch(text)]
    if 2 * len(dates) > len(some):
        return Lookalike(some.index(dates[0]), dates[0], "a date", "2024-12-31")
    plain = ~np.isnan(parse_numbers(np.array(some, object)))
    others = [
        text for text, number in zip(some, plain, strict=True) if not number and len(text) <= LONGEST
    ]
    forms = {
        "a number with separated thousands": _grouped,
        "a number with a decimal comma": _with_comma,
        "a number with a unit": _with_unit if len(some) >= FEWEST_WITH_UNIT else _none,
    }
    for what, form in forms.items():
        found = form(others)
        if found and 2 * (len(found) + np.count_nonzero(plain)) > len(some):
            example = next(iter(found))
            return Lookalike(some.index(example), example, what, found[example])
    return None


def _grouped(texts: list[str]) -> dict[str, str]:
    """Numbers such as 1,050, and how they should be written."""
    # If there are texts such as 12,5 as well, the comma is one before decimals.
    if any(COMMA.fullmatch(text) and not GROUPS.fullmatch(text) for text in texts):
        return {}
    return {text: re.sub(r"[^\d.+-]", "", text) for text in texts if GROUPS.fullmatch(text)}


def _with_comma(texts: list[str]) -> dict[str, str]:
    """Numbers such as 12,5; one that can be nothing else first, for the example."""
    found = [text for text in texts if COMMA.fullmatch(text)]
    found.sort(key=lambda text: GROUPS.fullmatch(text) is not None)
    return {text: re.sub(r"[^\d,+-]", "", text).replace(",", ".") for text in found}


def _with_unit(texts: list[str]) -> dict[str, str]:
    """Numbers with what most of them have before or after them."""
    matches = [UNIT.fullmatch(text) for text in texts]
    found = [match for match in matches if match and (match["before"] or match["after"])]
    found = [match for match in found if not ORDINAL.fullmatch(match["after"])]
    units = Counter((match["before"], match["after"].lower()) for match in found)
    # The letters of 12a, 12b and 12c are no unit.
    if 2 * max(units.values(), default=0) <= len(found):
        return {}
    return {match.string: match["number"].replace(",", ".") for match in found}


def _none(texts: list[str]) -> dict[str, str]:
    return {}
