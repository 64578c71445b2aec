"""Parquet files as frames."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bmaml.errors import BmamlError
from bmaml.tables.names import require_names

if TYPE_CHECKING:
    import pandas

# What pandas calls a nameless index in a file.
INDEX = re.compile(r"__index_level_\d+__")


def read_parquet(path: Path, columns: Sequence[str] | None) -> "pandas.DataFrame":
    """Read the given columns, or all, with text as categories."""
    import pandas as pd

    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise BmamlError(
            f"Reading {path} needs pyarrow: run pip install '.[parquet]' in bmaml's folder, or give "
            "a CSV file."
        ) from error

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            require_names(names, columns or [], str(path), all_names=columns is None)
            wanted = columns or [name for name in names if not INDEX.fullmatch(name)]
            table = file.read(columns=list(wanted)).select(list(wanted))
        # Columns as they stand in the file, not as an index that pandas may have made of them.
        return table.to_pandas(
            strings_to_categorical=True,
            date_as_object=False,
            ignore_metadata=True,
            split_blocks=True,
            self_destruct=True,
            # Long whole numbers with gaps would else be rounded, which names must not be.
            types_mapper={pyarrow.int64(): pd.Int64Dtype(), pyarrow.uint64(): pd.UInt64Dtype()}.get,
        )
    except pyarrow.ArrowMemoryError:
        raise
    except (pyarrow.ArrowException, ValueError, OSError) as error:
        raise BmamlError(f"{path} is not a Parquet file that can be read: write it again.") from error
