"""Small made-up images."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from bmaml.tasks.images import ImageEpisodes
from bmaml.tasks.images.cache import ImageTable
from bmaml.tasks.images.episodes import Part


@dataclass(frozen=True)
class MadeUp(ImageEpisodes):
    """Every image says by its first two pixels which class and which row it is."""

    classes: int = 40
    instances: int = 20
    uneven: bool = False
    turned: bool = False

    def rotates(self, part: Part) -> bool:
        return self.turned

    def read(self, part: Part) -> ImageTable:
        number = np.arange(self.classes)
        counts = self.instances + (number % 7 if self.uneven else 0 * number)
        pixels = np.zeros((counts.sum(), 3, 3, 1), np.uint8)
        pixels[:, 0, 0, 0] = np.repeat(number, counts) + 100 * (part != "train")
        pixels[:, 0, 1, 0] = np.concatenate([np.arange(count) for count in counts])
        return ImageTable(pixels, tuple(f"{part}{i}" for i in number), counts.astype(np.int32))


def paint(path: Path, seed: int = 0, size: int = 12, mode: str = "RGB") -> Path:
    """A file with a random image."""
    path.parent.mkdir(parents=True, exist_ok=True)
    shape = (size, size, 3) if mode == "RGB" else (size, size)
    pixels = np.random.default_rng(seed).integers(0, 256, shape, np.uint8)
    Image.fromarray(pixels).save(path)
    return path
