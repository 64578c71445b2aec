"""What the cells of a table's column say: numbers, dates, yes or no, or text.

What counts is what the cells hold, not how the column is stored: the text "1.5" is a number, so that
one odd word further down a file does not change the meaning of all that stands above it.
"""

import re
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from bmaml.errors import BmamlError

if TYPE_CHECKING:
    import pandas

CellKind = Literal["numbers", "dates", "flags", "texts"]

# The one way to write dates that cannot be misread; a time may follow.
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}(?!\d)")


class Texts(NamedTuple):
    """Cells as text: each row's place in `values`, or -1 where the cell is empty."""

    codes: np.ndarray
    values: np.ndarray


def texts_of(series: "pandas.Series") -> Texts:
    """The different texts of a column; a whole number reads the same whether it is stored as 1 or 1.0.

    >>> import pandas
    >>> texts_of(pandas.Series([2.0, None, 1.5, 2.0])).values.tolist()
    ['2', '1.5']
    """
    import pandas as pd

    if isinstance(series.dtype, pd.CategoricalDtype):
        codes, values = series.cat.codes.to_numpy(), series.cat.categories
    else:
        try:
            codes, values = pd.factorize(series)
        except (TypeError, NotImplementedError):  # Lists and the like, which Parquet files may hold.
            codes, values = pd.factorize(series.map(str, na_action="ignore"))
    texts = np.asarray(values, object)
    if not isinstance(values.dtype, pd.StringDtype):
        # Different values may read the same.
        merged, texts = pd.factorize(np.array([text_of(value) for value in texts], object))
        codes = np.append(merged, -1)[codes]
    # Categories that no row has, such as those of other tasks only, must not count.
    keep = np.bincount(codes[codes >= 0], minlength=len(texts)) > 0
    keep &= np.array([not text.isspace() and text != "" for text in texts], bool)
    places = np.where(keep, np.cumsum(keep) - 1, -1)
    return Texts(np.append(places, -1)[codes], np.asarray(texts, object)[keep])


def text_of(value: Any) -> str:
    """One value as text.

    >>> text_of(3.0), text_of(0.1), text_of(True)
    ('3', '0.1', 'True')
    """
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, float | np.floating):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 1e15 else repr(number)
    return str(value)


def plain_name(name: str) -> str:
    """A whole number without the decimals that pandas gives a column with gaps.

    >>> plain_name("76.0"), plain_name("76.05"), plain_name("v2.0")
    ('76', '76.05', 'v2.0')
    """
    return re.sub(r"^(-?\d+)\.0+$", r"\1", name)


def kind_of(series: "pandas.Series") -> CellKind:
    """What a column's filled cells are; the nearest that all of them fit."""
    import pandas as pd

    if pd.api.types.is_bool_dtype(series.dtype):
        return "flags"
    if _is_plain_number(series) or pd.api.types.is_timedelta64_dtype(series.dtype):
        return "numbers"
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "dates"
    if _is_category(series) and pd.api.types.is_numeric_dtype(series.cat.categories.dtype):
        return "texts"  # Someone took the trouble to say that these numbers are names.
    values = texts_of(series).values
    if len(values) == 0:
        return "texts"
    # A few first: most columns of words are known by them.
    for some in (values[:10], values):
        kinds: dict[CellKind, bool] = {
            "flags": bool(_flags(some).all()),
            "numbers": not np.isnan(parse_numbers(some)).any(),
            "dates": not np.isnat(_parse_dates(some)).any(),
        }
        if not any(kinds.values()):
            return "texts"
    return next(kind for kind, fits in kinds.items() if fits)


def numbers_of(series: "pandas.Series", rows: np.ndarray | None = None) -> np.ndarray:
    """A column as float64, NaN where a cell is empty; durations in days, yes and no as 1 and 0.

    Arguments:
        series: the column.
        rows: which rows of the table these are, for the sentence about one with text; None is all.
    """
    import pandas as pd

    if pd.api.types.is_timedelta64_dtype(series.dtype):
        return (series / pd.Timedelta(days=1)).to_numpy(np.float64, na_value=np.nan)
    if _is_plain_number(series):
        return series.to_numpy(np.float64, na_value=np.nan)
    texts = texts_of(series)
    numbers = parse_numbers(texts.values)
    _refuse(series, texts, np.isnan(numbers), rows, "numbers")
    return np.append(numbers, np.nan)[texts.codes]


def days_of(series: "pandas.Series", rows: np.ndarray | None = None) -> np.ndarray:
    """A column of dates as days since 1970 in UTC, NaN where a cell is empty; see `numbers_of`."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        times = pd.to_datetime(series, utc=True).dt.tz_localize(None).to_numpy("datetime64[us]")
    else:
        texts = texts_of(series)
        parsed = _parse_dates(texts.values)
        _refuse(series, texts, np.isnat(parsed), rows, "dates, such as 2024-12-31")
        times = np.append(parsed, np.datetime64("NaT"))[texts.codes]
    return (times - np.datetime64(0, "us")) / np.timedelta64(1, "D")


def filled_of(series: "pandas.Series") -> np.ndarray:
    """Which cells are neither empty nor infinite."""
    if _is_plain_number(series):
        return np.isfinite(numbers_of(series))
    texts = texts_of(series)
    finite = ~np.isinf(parse_numbers(texts.values))
    return np.append(finite, False)[texts.codes]


def as_numbers(texts: np.ndarray) -> np.ndarray:
    """The numbers that texts spell, NaN for those that are no numbers."""
    import pandas as pd

    return np.asarray(pd.to_numeric(texts, errors="coerce"), np.float64)


def parse_numbers(texts: np.ndarray) -> np.ndarray:
    """As `as_numbers`, with 1 and 0 for true and false."""
    said = np.array([text.casefold() == "true" for text in texts], np.float64)
    return np.where(_flags(texts), said, as_numbers(texts))


def _flags(texts: np.ndarray) -> np.ndarray:
    return np.array([text.casefold() in ("true", "false") for text in texts], bool)


def _parse_dates(texts: np.ndarray) -> np.ndarray:
    """The dates that texts spell, NaT for those that are no dates."""
    import pandas as pd

    like_dates = np.array([DATE.match(text) is not None for text in texts], bool)
    parsed = np.full(len(texts), np.datetime64("NaT"), "datetime64[us]")
    found = pd.to_datetime(texts[like_dates], format="ISO8601", utc=True, errors="coerce")
    parsed[like_dates] = found.tz_localize(None).to_numpy("datetime64[us]")
    return parsed


def _is_category(series: "pandas.Series") -> bool:
    import pandas as pd

    return isinstance(series.dtype, pd.CategoricalDtype)


def _is_plain_number(series: "pandas.Series") -> bool:
    import pandas as pd

    types = pd.api.types
    return types.is_numeric_dtype(series.dtype) and not types.is_complex_dtype(series.dtype)


def _refuse(
    series: "pandas.Series", texts: Texts, bad: np.ndarray, rows: np.ndarray | None, expected: str
) -> None:
    """Name the first row whose cell is `bad`, if there is one."""
    found = np.flatnonzero(np.append(bad, False)[texts.codes])
    if len(found) > 0:
        first = int(found[0])
        raise BmamlError(
            f"The column {str(series.name)!r} should hold {expected}, but data row "
            f"{first + 1 if rows is None else int(rows[first]) + 1} holds "
            f"{shortened(str(texts.values[texts.codes[first]]))}: correct that cell or leave it empty."
        )


def shortened(text: str, most: int = 40) -> str:
    """A quoted text that does not flood a sentence."""
    return repr(text if len(text) <= most else text[: most - 1] + "…")
