"""CSV files as frames, read in pieces that fit into memory."""

import gzip
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmaml.errors import BmamlError
from bmaml.tables.growing import GrowingColumn
from bmaml.tables.names import column_of, require_names

if TYPE_CHECKING:
    import pandas

SEPARATORS = (",", "\t", ";", "|")
# Cells of a piece; each takes some 100 bytes while it is parsed.
PIECE = 2_000_000
SAMPLE_ROWS = 100
# What says that a cell is empty, as in pandas; but for "" a word that may also be a name.
EMPTY = (
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
)


def read_csv(
    path: Path,
    columns: Sequence[str] | None,
    text: Sequence[str] = (),
    literal: Sequence[str] = (),
    piece: int = PIECE,
) -> "pandas.DataFrame":
    """Read the given columns, or all, with text as categories.

    A column means the same whether it is read in pieces or at once: if it holds numbers here and
    words there, all of it is text, spelled as in the file.

    Arguments:
        path: the file; a name that ends in .gz is decompressed.
        columns: the columns to keep; None is all.
        text: columns to take as text even if they look like numbers.
        literal: columns in which, if they are text, words such as NA are words like any other.
        piece: how many cells to parse at once.
    """
    import pandas as pd

    with reporting_errors(path):
        separator, names = _header(path)
        require_names(names, columns or [], str(path), all_names=columns is None)
        wanted = list(dict.fromkeys(names if columns is None else columns))
        options: dict[str, Any] = {
            "sep": separator,
            "decimal": _decimal_mark(path, separator),
            "chunksize": max(1, piece // len(names)),
        }
        spelled = {name for name in text if name in wanted}
        words = set(literal)
        read = _read_columns(path, names, wanted, spelled, words & spelled, options)
        again = {name for name in wanted if read[name].mixed}
        # Only now is it known that these are text.
        again |= {name for name in wanted if name in words - spelled and read[name].is_text}
        if again:
            read |= _read_columns(path, names, sorted(again), again, words & again, options)
        # Not copied into one block: that would take the memory twice.
        return pd.DataFrame({name: read.pop(name).finish() for name in wanted}, copy=False)


def _header(path: Path) -> tuple[str, list[str]]:
    """The separator that gives the first line most names, and these."""
    import pandas as pd

    tabs = path.name.lower().removesuffix(".gz").endswith(".tsv")
    separators = ("\t",) if tabs else SEPARATORS
    found = {}
    for separator in separators:
        first = {"header": None, "nrows": 1, "dtype": str, "keep_default_na": False}
        line = pd.read_csv(path, sep=separator, encoding="utf-8", **first).iloc[0]
        found[separator] = [str(name) for name in line]
    separator = max(found, key=lambda name: len(found[name]))
    names = found[separator]
    if any("\0" in name for name in names):
        raise BmamlError(f"{path} holds zero bytes, so it is not UTF-8 text: save it as UTF-8.")
    return separator, [name or f"Unnamed: {place}" for place, name in enumerate(names)]


def _decimal_mark(path: Path, separator: str) -> str:
    """The mark before decimals; a comma is likely where commas do not separate."""
    import pandas as pd

    if separator != ";":
        return "."
    numbers = {}
    for mark in (".", ","):
        sample = pd.read_csv(path, sep=separator, decimal=mark, nrows=SAMPLE_ROWS, index_col=False)
        numbers[mark] = len(sample.select_dtypes("number").columns)
    return max(numbers, key=lambda mark: numbers[mark])


def _read_columns(
    path: Path,
    names: list[str],
    wanted: list[str],
    spelled: set[str],
    literal: set[str],
    options: dict[str, Any],
) -> dict[str, GrowingColumn]:
    """The wanted columns; those of `spelled` as text, those of `literal` with all their words."""
    import pandas as pd

    if literal:
        empty = {place: [""] if name in literal else EMPTY for place, name in enumerate(names)}
        options = {**options, "na_values": empty, "keep_default_na": False}

    kinds: Any = {place: str for place, name in enumerate(names) if name in spelled}
    places = {name: place for place, name in enumerate(names)}
    columns = {name: GrowingColumn(name in spelled) for name in wanted}
    # All columns are parsed, as a line with too many cells would else pass unseen. They go by place,
    # as pandas gives other names to columns that share one.
    with pd.read_csv(
        path,
        header=0,
        names=range(len(names)),
        dtype=kinds,
        index_col=False,
        low_memory=False,
        encoding="utf-8",
        **options,
    ) as reader:
        for piece in reader:
            for name, column in columns.items():
                column.append(column_of(piece, places[name]))
    return columns


@contextmanager
def reporting_errors(path: Path) -> Iterator[None]:
    """Turn what pandas raises and warns of into one sentence."""
    import pandas as pd

    try:
        with warnings.catch_warnings():
            # Of a first row with more cells than names, of which some would be lost.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            yield
    except UnicodeDecodeError as error:
        raise BmamlError(_encoding_sentence(path)) from error
    except pd.errors.EmptyDataError as error:
        raise BmamlError(
            f"{path} is empty: give a file with a line of names and rows of data."
        ) from error
    except pd.errors.ParserWarning as error:
        raise BmamlError(
            f"{path} has more cells in its first row of data than names in the line above: correct it."
        ) from error
    except (pd.errors.ParserError, ValueError) as error:
        reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
        if "out of memory" in reason:
            raise MemoryError from error
        raise BmamlError(
            f"{path} cannot be read as a table ({reason}): correct it; a cell with a separator in "
            "it needs quotes around it."
        ) from error


def _encoding_sentence(path: Path) -> str:
    """Where a file stops being UTF-8, and what it may be instead."""
    open_file = gzip.open if path.suffix.lower() == ".gz" else open
    with open_file(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if number == 1 and line.startswith((b"\xff\xfe", b"\xfe\xff")):
                return f"{path} is UTF-16, not UTF-8: save it as UTF-8."
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return (
                    f"{path} is not UTF-8: line {number} holds the byte 0x{line[error.start]:02x}; "
                    "save it as UTF-8 (it may be Windows-1252 or Latin-1 now)."
                )
    return f"{path} is not UTF-8: save it as UTF-8."
