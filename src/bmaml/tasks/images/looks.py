"""What pictures look like in a few numbers, to notice those that are unlike all of training."""

from collections.abc import Iterable, Mapping

import numpy as np
from jaxtyping import Float, UInt8

from bmaml.ranges import far_outside

# So many pictures, evenly spread over the classes, stand for a data set of any size.
SAMPLE = 4096
AT_ONCE = 256
# A difference that hardly shows; training pictures that are all alike should not make others strange.
UNNOTICED = 0.05

Pixels = UInt8[np.ndarray, "rows height width channels"]
# The least and the greatest value of each number, by name; values of a JSON file.
Ranges = dict[str, list[float]]


def looks(pixels: Pixels) -> dict[str, Float[np.ndarray, " rows"]]:
    """Of every picture: how bright, rich in contrast, detailed and colourful it is, from 0 to 1."""
    values = pixels.astype(np.float32) / 255.0
    down, across = np.abs(np.diff(values, axis=1)), np.abs(np.diff(values, axis=2))
    # A picture of one row or column has no neighbours in that direction.
    steps = [np.mean(change, axis=(1, 2, 3)) for change in (down, across) if change.size]
    return {
        "brightness": np.mean(values, axis=(1, 2, 3)),
        "contrast": np.std(values, axis=(1, 2, 3)),
        "detail": np.mean(steps, axis=0) if steps else np.zeros(len(values), np.float32),
        "colour": np.mean(np.max(values, axis=3) - np.min(values, axis=3), axis=(1, 2)),
    }


def ranges_of(pixels: Pixels) -> Ranges:
    """The least and the greatest of each number over a sample of training pictures, and a bit more."""
    rows = np.unique(np.linspace(0, len(pixels) - 1, SAMPLE).astype(int))
    found = together(
        looks(pixels[rows[start : start + AT_ONCE]]) for start in range(0, len(rows), AT_ONCE)
    )
    return {
        name: [max(0.0, float(values.min()) - UNNOTICED), min(1.0, float(values.max()) + UNNOTICED)]
        for name, values in found.items()
    }


def together(parts: Iterable[Mapping[str, Float[np.ndarray, " _"]]]) -> dict[str, np.ndarray]:
    """The looks of several batches as one."""
    every = list(parts)
    return {name: np.concatenate([part[name] for part in every]) for name in every[0]}


def unlike(ranges: Ranges, found: Mapping[str, Float[np.ndarray, " rows"]]) -> str | None:
    """What to say of pictures far outside the ranges of training, if there are any."""
    told = []
    for name, (low, high) in ranges.items():
        if name in found:
            sentence = far_outside(low, high, found[name], "{:.2g}".format, "picture")
            told += [f"{name}: {sentence}"] if sentence else []
    return "; ".join(told) or None
