"""How commands hand over tables of results, and what a user should be warned of."""

import csv
import os
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bmaml.errors import BmamlError
from bmaml.run_folder import reporting_write_errors

if TYPE_CHECKING:
    import pandas

# All text in quotes: otherwise a carriage return in a name would be taken for the end of a line.
CSV: dict[str, Any] = {"index": False, "quoting": csv.QUOTE_NONNUMERIC, "lineterminator": "\n"}


def write_frame(frame: "pandas.DataFrame", out: Path | None) -> None:
    """To a file, CSV or Parquet by its name, whole or not at all; without one, print CSV."""
    if out is None:
        frame.to_csv(sys.stdout, **CSV)
        return
    if out.is_dir():
        raise BmamlError(f"{out} is a folder: give the name of a file to write.")
    temporary = out.with_name(f".{out.name}.{os.getpid()}.tmp")
    with reporting_write_errors(out.parent):
        try:
            if out.suffix in (".parquet", ".pq"):
                _require_pyarrow()
                frame.to_parquet(temporary, index=False)
            else:
                frame.to_csv(temporary, **CSV)
            os.replace(temporary, out)
        finally:
            temporary.unlink(missing_ok=True)
    print(f"Wrote {len(frame)} rows to {out}")


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
        raise BmamlError("Parquet needs pyarrow: pip install 'bmaml[parquet]', or use CSV.") from error
