"""Decoded images on disk, so that only the first use has to open tens of thousands of files.

An entry is `NAME.npy`, which is memory-mapped, and `NAME.json`, which says what it holds. Both are
put in place by renaming, the description last: whatever instant a first use is killed at, the next
one either finds a complete entry or makes it again.
"""

import hashlib
import io
import json
import os
import sys
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from bmaml.errors import BmamlError
from bmaml.writing import FULL

FORMAT = 2
# What numpy's header takes for four axes of any length; rows are counted only as they are written.
HEADER_BYTES = 128
# A file in the making that has not grown for so long was left by a process that is gone.
ABANDONED_SECONDS = 600


class ImageTable(NamedTuple):
    """Images sorted by class: uint8 rows × height × width × channels, and the classes in order."""

    pixels: np.ndarray
    names: tuple[str, ...]
    counts: np.ndarray


# The images of a class, or a part of them; parts of the same class follow each other.
Block = tuple[str, np.ndarray]


def cache_folder() -> Path:
    """Where decoded images are kept: `$BMAML_CACHE`, or the platform's place for caches."""
    if chosen := os.environ.get("BMAML_CACHE"):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bmaml"


def cached_images(
    name: str, settings: Any, fingerprint: str, make: Callable[[], Iterable[Block]]
) -> ImageTable:
    """The images that `make` decodes, from the cache unless they changed.

    Arguments:
        name: what the images are, in a word or two fit for a file name.
        settings: JSON of all that tells this entry from others of the same name.
        fingerprint: of the source; an entry made from another state of it is made again.
        make: decodes the images, class by class.
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    path = cache_folder() / "images" / f"{name}-{digest}.npy"
    table = _open(path, fingerprint)
    if table is None:
        _write(path, fingerprint, make)
        table = _open(path, fingerprint)
    if table is None:
        raise BmamlError(f"{path} cannot be read back: set BMAML_CACHE to a folder on a sound disk.")
    return table


def fingerprint_files(files: Iterable[Path], *more: Any) -> str:
    """A digest of the names, sizes and times of files, and of anything else that matters."""
    digest = hashlib.sha256(json.dumps(more).encode())
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            raise BmamlError(
                f"{file} cannot be read ({error.strerror}): check the data set and its folder."
            ) from error
        # A name may be any bytes, not only those of UTF-8.
        digest.update(os.fsencode(f"{file}\0{status.st_size}\0{status.st_mtime_ns}\n"))
    return digest.hexdigest()


def _open(path: Path, fingerprint: str) -> ImageTable | None:
    """An entry, or None if it is missing, of another state of the source, or not as it was written."""
    try:
        about = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
        if about["format"] != FORMAT or about["fingerprint"] != fingerprint:
            return None
        if about["classes_checksum"] != _checksum(about["names"], about["counts"]):
            return None
        pixels = np.load(path, mmap_mode="r", allow_pickle=False)
        counts = np.asarray(about["counts"], np.int32)
        names = tuple(about["names"])
        sound = (
            pixels.dtype == np.uint8
            and pixels.ndim == 4
            and pixels.shape[0] == counts.sum()
            and len(names) == len(counts)
            and zlib.crc32(memoryview(pixels).cast("B")) == about["checksum"]
        )
    # A damaged header of numpy's fails in as many ways as there are Python expressions.
    except Exception:
        return None
    return ImageTable(pixels, names, counts) if sound else None


def _write(path: Path, fingerprint: str, make: Callable[[], Iterable[Block]]) -> None:
    with _reporting_write_errors(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path.parent)
        with _replacing(path) as file:
            counts, checksum = _write_blocks(file, make())
            if not counts:
                raise BmamlError(f"None of the images of {path.stem} can be read: check the data set.")
        names, numbers = list(counts), list(counts.values())
        about = {
            "format": FORMAT,
            "fingerprint": fingerprint,
            "checksum": checksum,
            "names": names,
            "counts": numbers,
            "classes_checksum": _checksum(names, numbers),
        }
        with _replacing(path.with_suffix(".json")) as file:
            file.write(json.dumps(about).encode())


def _checksum(names: list[str], counts: list[int]) -> int:
    """Of what the pixels' own does not cover: which of them belong to which class."""
    return zlib.crc32(json.dumps([names, counts]).encode())


def _write_blocks(file: IO[bytes], blocks: Iterable[Block]) -> tuple[dict[str, int], int]:
    """Write images as they come; the number of each class and a checksum of them all."""
    counts: dict[str, int] = {}
    checksum, shape = 0, (0, 0, 0)
    file.write(bytes(HEADER_BYTES))
    for name, pixels in blocks:
        counts[name] = counts.get(name, 0) + len(pixels)
        shape = pixels.shape[1:]
        data = np.ascontiguousarray(pixels, np.uint8).tobytes()
        checksum = zlib.crc32(data, checksum)
        file.write(data)
    header = io.BytesIO()
    description = {"descr": "|u1", "fortran_order": False, "shape": (sum(counts.values()), *shape)}
    np.lib.format.write_array_header_1_0(header, description)
    assert len(header.getvalue()) == HEADER_BYTES
    file.seek(0)
    file.write(header.getvalue())
    return counts, checksum


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write that takes the place of `path` when it is complete."""
    # A name of its own: two processes or threads may make the same entry at the same time.
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex[:8]}.partial")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _remove_abandoned(folder: Path) -> None:
    for partial in folder.glob("*.partial"):
        with suppress(OSError):
            if time.time() - partial.stat().st_mtime > ABANDONED_SECONDS:
                partial.unlink()


@contextmanager
def _reporting_write_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in FULL
        reason = "the disk is full" if full else error.strerror or str(error)
        raise BmamlError(
            f"Cannot keep decoded images in {folder}, {reason}: {'make room there, or ' * full}set "
            "BMAML_CACHE to another folder."
        ) from error
