"""A column of a file that is read piece by piece, in little more memory than it takes in the end."""

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from bmaml.tables.cells import as_numbers

if TYPE_CHECKING:
    import pandas

Kind = Literal["numbers", "flags", "texts"]

# How an empty cell is marked; flags are 1 and 0, texts are places in a list.
EMPTY = {"numbers": np.array(np.nan), "flags": np.array(-1, np.int8), "texts": np.array(-1, np.int32)}
# Text with more different cells than this, and hardly one twice, is not worth a list of categories.
MOST_CATEGORIES = 100_000


class GrowingColumn:
    """Takes pieces until they turn out to be of several kinds; it is `mixed` then, and drops them all.

    Arguments:
        spelled: whether its cells are text even if they look like numbers.
    """

    def __init__(self, spelled: bool):
        self.spelled = spelled
        self.mixed = False
        self._kind: Kind | None = None  # None: all cells were empty so far.
        self._values: np.ndarray[Any, Any] = np.empty(0)
        self._names: list[pandas.Series] = []

    @property
    def is_text(self) -> bool:
        """Whether its cells turned out to be text."""
        return self._kind == "texts"

    def append(self, piece: "pandas.Series") -> None:
        """Add rows at the end."""
        if self.mixed:
            return
        kind = self._kind
        if not piece.isna().all():
            kind, values = self._read(piece)
        elif kind is not None:
            values = np.full(len(piece), EMPTY[kind])
        else:
            values = np.full(len(piece), np.nan)
        if self._kind is None and kind is not None:
            self._kind = kind
            if len(self._values) > 0:
                self._values = np.full(len(self._values), EMPTY[kind])
            else:
                self._values = np.empty(0, values.dtype)
        elif self._kind != kind:
            self.mixed, self._values, self._names = True, np.empty(0), []
            return
        self._grow(values)

    def finish(self) -> "pandas.Series":
        """The column: numbers, yes and no, or text."""
        import pandas as pd

        if self._kind == "texts":
            return self._finish_texts()
        if self._kind != "flags":
            return pd.Series(self._values)
        empty = self._values < 0
        if empty.any():
            return pd.Series(pd.arrays.BooleanArray(self._values == 1, empty))
        return pd.Series(self._values.astype(bool))

    def _read(self, piece: "pandas.Series") -> tuple[Kind, np.ndarray]:
        """What a piece holds."""
        import pandas as pd

        if piece.dtype == object:
            found = pd.api.types.infer_dtype(piece, skipna=True)
            if found == "boolean":
                piece = piece.astype("boolean")
            elif found == "integer":  # Too large for 64 bits.
                piece = piece.astype(float)
        if pd.api.types.is_bool_dtype(piece.dtype):
            return "flags", piece.astype("Int8").to_numpy(np.int8, na_value=EMPTY["flags"])
        if pd.api.types.is_numeric_dtype(piece.dtype):
            return "numbers", piece.to_numpy()
        codes, names = pd.factorize(piece)
        # Among fractions, pandas takes whole numbers too large for 64 bits for text, and "nan" too.
        if not self.spelled and _are_numbers(names[:10]) and _are_numbers(names):
            return "numbers", np.append(as_numbers(np.asarray(names, object)), np.nan)[codes]
        before = sum(map(len, self._names))
        self._names.append(pd.Series(names))
        return "texts", np.where(codes < 0, -1, codes + before).astype(np.int32)

    def _grow(self, values: np.ndarray) -> None:
        kind = np.result_type(self._values, values)
        if self._values.dtype != kind:
            self._values = self._values.astype(kind)
        before = len(self._values)
        # In place: joining many arrays at the end would take the memory of all columns twice.
        self._values.resize(before + len(values), refcheck=False)
        self._values[before:] = values

    def _finish_texts(self) -> "pandas.Series":
        """Text as categories, or as it is if there is hardly one twice."""
        import pandas as pd

        names = pd.concat(self._names, ignore_index=True)
        if len(names) > max(MOST_CATEGORIES, len(self._values) / 2):
            return pd.Series(pd.api.extensions.take(names.array, self._values, allow_fill=True))
        places, different = pd.factorize(names)
        codes = np.append(places, -1)[self._values]
        return pd.Series(pd.Categorical.from_codes(codes, different))


def _are_numbers(names: "pandas.Index | np.ndarray") -> bool:
    """Whether every cell is a number, or says that it is none."""
    cells = np.asarray(names, object)
    empty = np.array([str(cell).strip().lower() in ("nan", "+nan", "-nan") for cell in cells], bool)
    return not empty.all() and not np.isnan(as_numbers(cells[~empty])).any()
