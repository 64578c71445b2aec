"""How commands hand over tables of results, and what a user should be warned of."""

import csv
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmaml.errors import BmamlError
from bmaml.writing import reporting_write_errors

if TYPE_CHECKING:
    import pandas

# All text in quotes: otherwise a carriage return in a name would be taken for the end of a line.
CSV: dict[str, Any] = {"index": False, "quoting": csv.QUOTE_NONNUMERIC, "lineterminator": "\n"}
PARQUET = (".parquet", ".pq")
ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz", *PARQUET)


def check_out(out: Path | None, inputs: Iterable[Path | None]) -> None:
    """Refuse to write over what is read, under whatever name; or to a file of an unknown kind."""
    if out is None:
        return
    if any(path is not None and _same_file(out, path) for path in inputs):
        raise BmamlError(f"--out {out} would overwrite what is read: choose another file.")
    if out.is_dir():
        raise BmamlError(f"{out} is a folder: give the name of a file to write.")
    if not out.absolute().parent.is_dir():
        raise BmamlError(f"There is no folder {out.parent} to write {out.name} to: make it first.")
    if not out.name.lower().endswith(ENDINGS):
        raise BmamlError(
            f"--out {out} does not say what to write: give a name that ends in {', '.join(ENDINGS)}."
        )


def write_frame(frame: "pandas.DataFrame", out: Path | None) -> None:
    """To a file of the kind that its name says, whole or not at all; without one, print CSV."""
    if out is None:
        frame.to_csv(sys.stdout, **CSV)
        return
    check_out(out, [])
    name, temporary = out.name.lower(), out.with_name(f".{out.name}.{os.getpid()}.tmp")
    with reporting_write_errors(out.parent):
        try:
            if name.endswith(PARQUET):
                _require_pyarrow()
                frame.to_parquet(temporary, index=False)
            else:
                separator = "\t" if name.removesuffix(".gz").endswith(".tsv") else ","
                # The same bytes for the same rows, whenever they are written.
                packed: Any = {"method": "gzip", "mtime": 0} if name.endswith(".gz") else None
                frame.to_csv(temporary, sep=separator, compression=packed, **CSV)
            os.replace(temporary, out)
        finally:
            temporary.unlink(missing_ok=True)
    print(f"Wrote {len(frame)} rows to {out}")


def _same_file(one: Path, other: Path) -> bool:
    """Whether two names, by way of links perhaps, lead to one place."""
    try:
        return one.resolve() == other.resolve() or one.samefile(other)
    except (OSError, RuntimeError):  # One is not there, or its links lead in a circle.
        return False


def print_frame(frame: "pandas.DataFrame", title: str) -> None:
    """A few rows as a table for the eye."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    for name in frame:
        table.add_column(str(name), overflow="fold")
    for row in frame.itertuples(index=False):
        table.add_row(*map(_told, row))
    Console().print(table)


def print_scores(scores: Mapping[str, float], title: str) -> None:
    """Names and values, one a line."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title)
    table.add_column("score")
    table.add_column("value", justify="right")
    for name, value in scores.items():
        table.add_row(name, f"{value:.4f}")
    Console().print(table)


def _told(cell: Any) -> str:
    """A number in few digits; text without what a terminal or a table would take for an order."""
    from rich.markup import escape

    if isinstance(cell, float):
        return f"{cell:.4g}"
    text = str(cell)
    return escape(text if text.isprintable() else repr(text))


@contextmanager
def speaking_warnings() -> Iterator[None]:
    """Warnings as sentences for a user, without the line of code they come from."""
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_: print(f"bmaml: {message}", file=sys.stderr)
        warnings.simplefilter("always", UserWarning)
        yield


def _require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise BmamlError(
            "Parquet needs pyarrow: run pip install '.[parquet]' in bmaml's folder, or use CSV."
        ) from error
