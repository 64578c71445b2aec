"""Arrays out of pickles from the internet, without running anything that these contain.

A pickle is a program that may call any function. Here it may name but a few, and even those are
stand-ins that only take notes: bytes, a shape and a plain numeric type become an array, and nothing
else happens.
"""

import pickle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from bmaml.errors import BmamlError


class _StandIn:
    """Cannot be altered by a pickle, unlike a plain function."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise pickle.UnpicklingError("it alters what it must not")


class _Type(_StandIn):
    """Stands for `numpy.dtype`."""

    __slots__ = ("code",)

    def __init__(self, code: str, *flags: Any):
        self.code = str(code)

    def __setstate__(self, state: Any) -> None:
        order = state[1]
        self.code = (order if order in ("<", ">") else "") + self.code.lstrip("<>|=")

    def plain(self) -> np.dtype:
        """The type, if it is a plain one."""
        if self.code.lstrip("<>|=")[:1] not in ("b", "i", "u", "f", "S", "U"):
            raise pickle.UnpicklingError(f"it holds values of type {self.code}")
        return np.dtype(self.code)


class _Array(_StandIn):
    """Stands for `numpy.ndarray`."""

    __slots__ = ("values",)

    def __init__(self, *notes: Any):
        self.values = np.zeros(0)

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, fortran, raw = state
        self.fill(raw, kind, shape, "F" if fortran else "C")

    def fill(self, raw: Any, kind: _Type, shape: tuple[int, ...], order: str) -> None:
        """Take the values from bytes, which Python 2 wrote as text."""
        raw = raw.encode("latin1") if isinstance(raw, str) else raw
        values = np.frombuffer(raw, kind.plain())
        if values.size != prod(shape):
            raise pickle.UnpicklingError("an array has not as many values as its shape says")
        self.values = values.reshape(tuple(shape), order="F" if order == "F" else "C")


class _Reconstruct(_StandIn):
    """Stands for what makes an empty array."""

    __slots__ = ()

    def __call__(self, *notes: Any) -> _Array:
        return _Array()


class _FromBuffer(_StandIn):
    """Stands for what makes an array in newer pickles."""

    __slots__ = ()

    def __call__(self, raw: Any, kind: _Type, shape: tuple[int, ...], order: str) -> _Array:
        array = _Array()
        array.fill(raw, kind, shape, order)
        return array


class _Scalar(_StandIn):
    """Stands for what makes a number of numpy's."""

    __slots__ = ()

    def __call__(self, kind: _Type, raw: Any) -> Any:
        array = _Array()
        array.fill(raw, kind, (1,), "C")
        return array.values[0].item()


class _Encode(_StandIn):
    """Stands for what turns text into bytes in older pickles."""

    __slots__ = ()

    def __call__(self, text: str, encoding: str) -> bytes:
        if encoding not in ("latin1", "latin-1"):
            raise pickle.UnpicklingError(f"it has text in the encoding {encoding}")
        return str(text).encode("latin1")


STAND_INS: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _Encode(),
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Reconstruct() for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): _FromBuffer() for core in ("core", "_core")},
    **{(f"numpy.{core}.multiarray", "scalar"): _Scalar() for core in ("core", "_core")},
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in STAND_INS:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return STAND_INS[module, name]


def read_pickle(path: Path) -> Any:
    """What a pickle of dictionaries, lists, texts, numbers and numeric arrays holds."""
    try:
        with open(path, "rb") as file:
            return _plain(_Reader(file, encoding="latin1").load())
    except OSError as error:
        raise BmamlError(f"{path} cannot be read ({error.strerror}).") from error
    # A damaged pickle fails in as many ways as there are instructions.
    except Exception as error:
        reason = str(error) if isinstance(error, pickle.UnpicklingError) else "it is damaged"
        raise BmamlError(
            f"{path} is not a pickle of plain arrays ({reason}) and was not read further: get the "
            "file anew from a source that you trust."
        ) from error


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.values
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    # Lists of numbers are long and common, and hold nothing to replace.
    if isinstance(value, list | tuple) and any(isinstance(entry, _Array) for entry in value):
        return [_plain(entry) for entry in value]
    return value
