"""Tables of all kinds, as people have them and as they should not be."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from bmaml.errors import BmamlError

# What a cell may hold, by the kind of column.
NUMBERS = st.one_of(
    st.floats(), st.floats(-5, 5), st.sampled_from([0.0, 1e308, -1e308, 5e-324, np.inf])
)
TEXTS = st.one_of(
    st.text(max_size=6), st.sampled_from(["red", "Rot", "赤", "", " ", "a,b", '"', "\n", "1"])
)
DATES = st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1))
WHOLE = st.integers(-3, 3)
DURATIONS = st.timedeltas(datetime.timedelta(days=-99), datetime.timedelta(days=99))
# Objects of all sorts in one column, some of which cannot even be told apart by hashing.
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    NUMBERS,
    TEXTS,
    DATES,
    st.binary(max_size=3),
    st.integers(-(2**70), 2**70),
    st.just(Decimal("2.5")),
    st.just([1, 2]),
    st.just(pd.NaT),
    st.just(datetime.date(2024, 2, 29)),
)


@st.composite
def series(draw, rows: int) -> pd.Series:
    """A column of any kind."""

    def cells(values, **kind):
        return pd.Series(draw(st.lists(values, min_size=rows, max_size=rows)), **kind)

    def gaps(values):
        return st.one_of(st.none(), values)

    kinds = {
        "numbers": lambda: cells(gaps(NUMBERS), dtype="float64"),
        "single precision": lambda: cells(st.floats(width=32), dtype="float32"),
        "nullable numbers": lambda: cells(gaps(st.integers(-(2**40), 2**40)), dtype="Int64"),
        "whole numbers": lambda: cells(WHOLE, dtype="int64"),
        "flags": lambda: cells(st.booleans(), dtype="bool"),
        "flags with gaps": lambda: cells(gaps(st.booleans()), dtype="boolean"),
        "texts": lambda: cells(gaps(TEXTS), dtype="object"),
        "categories": lambda: cells(gaps(TEXTS), dtype="object").astype("str").astype("category"),
        "numbered categories": lambda: cells(gaps(WHOLE), dtype="object").astype("category"),
        "dates": lambda: cells(gaps(DATES), dtype="datetime64[us]"),
        "dates of a zone": lambda: cells(gaps(DATES), dtype="datetime64[us]").dt.tz_localize("UTC"),
        "written dates": lambda: cells(gaps(DATES.map(str)), dtype="object"),
        "written numbers": lambda: cells(gaps(NUMBERS.map(str)), dtype="object"),
        "durations": lambda: cells(gaps(DURATIONS), dtype="timedelta64[us]"),
        "complex": lambda: cells(st.complex_numbers(), dtype="complex128"),
        "anything": lambda: cells(ANYTHING, dtype="object"),
        "nothing": lambda: pd.Series([None] * rows, dtype="object"),
        "constant": lambda: pd.Series([draw(ANYTHING)] * rows, dtype="object"),
    }
    return kinds[draw(st.sampled_from(sorted(kinds)))]()


@st.composite
def tables(draw, most_rows: int = 24, orderly: bool = False) -> pd.DataFrame:
    """A table with a column "task", a column "y" and others of any kind; orderly is to predict y."""
    rows = draw(st.integers(12 if orderly else 1, most_rows))
    names = st.sampled_from(["a", "ü", "c d", "'", "0"])
    others = draw(st.lists(names, unique=True, min_size=int(orderly), max_size=4))
    if orderly:
        target = draw(st.sampled_from([st.floats(-9, 9), st.sampled_from(["yes", "no", None]), WHOLE]))
        task = pd.Series(["k", "l", "m", "n"] * rows)[:rows]
        y = pd.Series(draw(st.lists(target, min_size=rows, max_size=rows)))
    else:
        some = st.lists(st.sampled_from(["k", "l", "m", "n", None]), min_size=rows, max_size=rows)
        task, y = draw(st.one_of(some.map(pd.Series), series(rows))), draw(series(rows))
    return pd.DataFrame({"task": task, "y": y, **{name: draw(series(rows)) for name in others}})


def measurements(tasks: int = 12, rows: int = 6, seed: int = 0) -> pd.DataFrame:
    """A well-behaved table: numbers, categories, flags and dates, and a number to predict."""
    rng = np.random.default_rng(seed)
    count = tasks * rows
    return pd.DataFrame(
        {
            "patient": np.repeat([f"p{place:02d}" for place in range(tasks)], rows),
            "age": rng.normal(50, 10, count),
            "drug": rng.choice(["none", "old", "new"], count),
            "smokes": rng.random(count) < 0.5,
            "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, count), "D"),
            "dose": rng.normal(size=count),
        }
    )


def sentence(error: BmamlError, about: str = "") -> str:
    """What an error says, which must be one sentence on one line, about what was expected."""
    told = str(error)
    assert about in told
    assert told.endswith((".", "?"))
    assert "\n" not in told
    assert ". " not in told.replace("e. ", "")
    return told
