"""Writing files so that nothing is lost: in one go, and with a sentence where it cannot be done."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bmaml.errors import RunError

# EFBIG: a limit on file sizes, as batch systems set, is a full disk of another kind.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def write_atomically(path: Path, text: str) -> None:
    """Replace a file in one go: readers see the old text or the new, never half of it."""
    temporary = path.with_name(path.name + ".tmp")
    with open(temporary, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


@contextmanager
def reporting_write_errors(
    folder: Path, then: str = "resume; complete checkpoints are intact"
) -> Iterator[None]:
    """Tell a full disk, a missing permission and their like in one sentence.

    `then` is what to do when there is room again.
    """
    try:
        yield
    except Exception as error:
        if _is_full(error):
            raise RunError(
                f"Cannot write to {folder}, the disk is full: make room and {then}."
            ) from error
        if isinstance(error, OSError):
            raise RunError(f"Cannot write to {folder}: {error.strerror or error}.") from error
        raise


def _is_full(error: BaseException | None) -> bool:
    """Orbax and TensorStore wrap the system's error, sometimes as mere text."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in FULL:
            return True
        if any(os.strerror(code) in str(error) for code in FULL):
            return True
        error = error.__cause__ or error.__context__
    return False
