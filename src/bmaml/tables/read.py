"""A table out of a file, or a sentence on what is wrong with the file."""

import os
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bmaml.errors import BmamlError
from bmaml.tables.csv_file import read_csv
from bmaml.tables.names import require_columns
from bmaml.tables.parquet_file import read_parquet

if TYPE_CHECKING:
    import pandas

TEXT = (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")


def read_table(
    source: "str | os.PathLike[str] | pandas.DataFrame",
    columns: Sequence[str] | None = None,
    *,
    text: Sequence[str] = (),
    literal: Sequence[str] = (),
    allow_empty: bool = False,
) -> "pandas.DataFrame":
    """Read a CSV or Parquet file; a frame is taken as it is.

    Text becomes categories. A CSV file is read piece by piece, so that a large one needs little more
    memory than the columns that are kept.

    Arguments:
        source: a .csv, .tsv or .txt file in UTF-8 (each may be compressed, .gz), a .parquet or .pq
            file, or a frame.
        columns: the columns to keep; None is all.
        text: columns of a CSV file whose cells are names even if they look like numbers, if there
            are such columns: 01 is then not 1.
        literal: columns of a CSV file in which, if they are text, only an empty cell is missing: None
            and NA may be names of tasks or classes.
        allow_empty: take a file with names of columns and no rows.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        frame = require_columns(source, columns or [], all_names=columns is None)
        return frame if columns is None else frame.loc[:, list(columns)]
    path = Path(source).expanduser()
    name = path.name.lower()
    try:
        if path.is_dir():
            raise BmamlError(f"{path} is a folder, not a table: give a file.")
        if not path.exists():
            raise BmamlError(f"There is no file {str(path)!r}: check its name and folder.")
        if not name.removesuffix(".gz").endswith(TEXT) and not name.endswith(PARQUET):
            raise BmamlError(
                f"{path} is not a table that bmaml reads: give a file whose name ends in "
                f"{', '.join(TEXT)} (or these with .gz), {' or '.join(PARQUET)}."
            )
        if path.stat().st_size == 0:
            raise BmamlError(f"{path} is empty: give a file with a line of names and rows of data.")
        parquet = name.endswith(PARQUET)
        frame = read_parquet(path, columns) if parquet else read_csv(path, columns, text, literal)
    except MemoryError as error:
        raise BmamlError(
            f"{path} does not fit into memory: keep fewer columns, or use a part of its tasks."
        ) from error
    except (EOFError, zlib.error, OSError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise BmamlError(f"{path} cannot be read ({reason}): is it complete?") from error
    if len(frame) == 0 and not allow_empty:
        raise BmamlError(f"{path} has names of columns but no rows: give a file with data.")
    return frame
