"""What is left out of a person's images: counted and named, with the reason."""

import warnings
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Integer

# With more names than these a sentence would not be read to its end.
NAMED = 5


class LeftOutWarning(UserWarning):
    """Files or classes were left out."""


class IncompleteWarning(UserWarning):
    """A published data set is not as it was published."""


class Skipped(NamedTuple):
    """A file that was left out, and why, in a short phrase."""

    file: str
    reason: str


def warn_of_skipped(skipped: Collection[Skipped], total: int) -> None:
    """Warn, if any file was left out: how many of `total` files, which, and why."""
    if not skipped:
        return
    named = [f"{shown(file)} ({reason})" for file, reason in sorted(skipped)[:NAMED]]
    warnings.warn(
        f"{len(skipped)} of {total} files are not images that can be read and were left out: "
        f"{', '.join(named)}{', …' if len(skipped) > NAMED else ''}",
        LeftOutWarning,
        stacklevel=3,
    )


def warn_of_small_classes(
    names: Sequence[str], usable: Bool[np.ndarray, " classes"], part: str, images: int
) -> None:
    """Warn of classes that have fewer than `images` images: how many, and which."""
    small = [shown(name) for name, kept in zip(names, usable, strict=True) if not kept]
    warnings.warn(
        f"{len(small)} of {len(names)} {part} classes have fewer than the {images} images that a task "
        f"takes and were left out: {', '.join(small[:NAMED])}{', …' if len(small) > NAMED else ''}",
        LeftOutWarning,
        stacklevel=3,
    )


def warn_of_another_size(
    data_set: str, part: str, counts: Integer[np.ndarray, " classes"], classes: int, images: int
) -> None:
    """Warn of a part that has not as many classes, or images in each, as the published one."""
    if len(counts) == classes and np.all(counts == images):
        return
    least, most = np.min(counts), np.max(counts)
    warnings.warn(
        f"The {part} part of {data_set} as it is published has {classes} classes of {images} images, "
        f"and this copy has {len(counts)} of {least if least == most else f'{least} to {most}'}: "
        "complete it, or results will not compare with those of others",
        IncompleteWarning,
        stacklevel=3,
    )


def shown(name: str) -> str:
    r"""A name as it can be printed on one line of any terminal.

    >>> print(shown("élan.png"), shown("two\nlines.png"))
    élan.png 'two\nlines.png'
    """
    return name if name.isprintable() else repr(name)


def as_unicode(name: str) -> str:
    r"""A name as it can be written to any file: one that is not Unicode on the disk has escapes.

    >>> as_unicode("\udcff.png")
    '\\udcff.png'
    """
    return name.encode(errors="backslashreplace").decode()
