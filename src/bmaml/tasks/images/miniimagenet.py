"""miniImageNet: 100 classes of ImageNet, 600 colour photographs each."""

import csv
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bmaml.errors import BmamlError
from bmaml.tasks.images.cache import Block, ImageTable, cached_images, fingerprint_files
from bmaml.tasks.images.decode import show_progress
from bmaml.tasks.images.episodes import ImageEpisodes, Part
from bmaml.tasks.images.folder import (
    class_files,
    part_classes,
    part_folder,
    read_image_classes,
    require_unseen,
)
from bmaml.tasks.images.image_file import ImageForm, MissingImageError, UnreadableImageError
from bmaml.tasks.images.pickles import read_pickle
from bmaml.tasks.images.skipped import warn_of_another_size

SHORT: dict[Part, str] = {"train": "train", "validation": "val", "test": "test"}
# How many classes each part has in the split of Ravi & Larochelle, with 600 photographs of each.
CLASSES: dict[Part, int] = {"train": 64, "validation": 16, "test": 20}
PHOTOGRAPHS = 600
PICKLES: dict[Part, tuple[str, ...]] = {
    part: (
        f"mini-imagenet-cache-{short}.pkl",
        f"miniImageNet_category_split_{'train_phase_train' if short == 'train' else short}.pickle",
    )
    for part, short in SHORT.items()
}


@dataclass(frozen=True)
class MiniImageNet(ImageEpisodes):
    """Few-shot classification of photographs, `size` × `size` in colour, pixels in [0, 1].

    The split is the one that comes with your copy, which should be that of Ravi & Larochelle: 64, 16
    and 20 classes (the 64, 12 and 24 that Kim et al. mention were never published). A few photographs
    are in both a training and a validation class; none of the test classes is affected.

    `folder` may be any of three common copies, told apart by what is there:

    - `train.csv`, `val.csv` and `test.csv` with lines `filename,label`, in `folder` or in a folder in
      it, and the JPEGs in `images`, in `folder` itself or in folders named for part or class;
    - `train`, `val` and `test`, each with a folder for each class;
    - pickled arrays: `mini-imagenet-cache-train.pkl` and its like, or
      `miniImageNet_category_split_train_phase_train.pickle`. Code in them is not run.
    """

    folder: str
    size: int = 84

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise ValueError(f"size is {self.size}; an image has at least one pixel.")

    @property
    def form(self) -> ImageForm:
        """In colour."""
        return ImageForm(self.size, "colour")

    def read(self, part: Part) -> ImageTable:
        """The photographs of one part."""
        table = self._read(part)
        warn_of_another_size("miniImageNet", part, table.counts, CLASSES[part], PHOTOGRAPHS)
        return table

    def _read(self, part: Part) -> ImageTable:
        folder = Path(self.folder).expanduser().absolute()
        name = f"miniimagenet-{part}"
        for file in PICKLES[part]:
            if (folder / file).is_file():
                return _read_pickled(name, folder / file, self.size)
        if listing := _listing(folder, part):
            require_unseen(folder, _listed_classes(folder))
            files = _listed_files(folder, listing, part)
        elif classes := part_folder(folder, part):
            require_unseen(folder, part_classes(folder))
            files = class_files(classes)
        else:
            raise BmamlError(
                f"{folder} has no {part} part of miniImageNet: looked for {SHORT[part]}.csv with "
                f"JPEGs in images/, for a folder {SHORT[part]} with a folder for each class, and for "
                f"{' or '.join(PICKLES[part])}."
            )
        try:
            return read_image_classes(name, files, self.form, skip_broken=False)
        except UnreadableImageError as error:
            if listing is None or isinstance(error, MissingImageError):
                raise
            raise BmamlError(
                f"{error.path} is not an image that can be read ({error.reason}): fetch it again, or "
                f"take its line out of {listing}."
            ) from error


def _listing(folder: Path, part: Part) -> Path | None:
    """The list of a part, in the folder or one below."""
    name = f"{SHORT[part]}.csv"
    return next(
        (path for path in (folder / name, *sorted(folder.glob(f"*/{name}"))) if path.is_file()), None
    )


def _lines(listing: Path) -> list[tuple[str, str]]:
    """The label and the file name of each line."""
    try:
        with open(listing, encoding="utf-8-sig", newline="") as file:  # also as spreadsheets write it
            rows = [(row["label"], row["filename"]) for row in csv.DictReader(file)]
    except (OSError, KeyError, UnicodeDecodeError, csv.Error) as error:
        raise BmamlError(f"{listing} is not a list with the columns filename and label.") from error
    if not rows or any(not label or not name for label, name in rows):
        raise BmamlError(f"{listing} lists no images, or has lines without a filename or a label.")
    if any("\0" in field for row in rows for field in row):
        raise BmamlError(f"{listing} holds zero bytes, which no name has: it is damaged, copy it anew.")
    return rows


def _listed_classes(folder: Path) -> dict[Part, set[str]]:
    """The classes of each part that has a list."""
    return {
        part: {label for label, _ in _lines(found)}
        for part in SHORT
        if (found := _listing(folder, part))
    }


def _listed_files(folder: Path, listing: Path, part: Part) -> dict[str, list[Path]]:
    rows = _lines(listing)
    label, name = rows[0]
    bases = [folder / "images", folder, folder / SHORT[part], folder / "images" / SHORT[part]]
    # os.path answers where Path raises, such as for a name that is too long for a file.
    base = next((base for base in bases if os.path.isfile(base / name)), None)
    by_class = next((base for base in bases if os.path.isfile(base / label / name)), None)
    if base is None and by_class is None:
        raise BmamlError(
            f"{listing} lists {name[:100]}, which is missing: put the JPEGs into {folder / 'images'}."
        )
    files: dict[str, list[Path]] = {}
    for label, name in rows:
        path = base / name if base is not None else by_class / label / name  # type: ignore[operator]
        files.setdefault(label, []).append(path)
    # By path, so that neither `./a.jpg` nor another label hides that it is the same photograph.
    path, times = Counter(map(os.path.normpath, chain(*files.values()))).most_common(1)[0]
    if times > 1:
        raise BmamlError(
            f"{listing} lists {os.path.basename(path)[:100]} {times} times: leave one line of it, or a "
            "task may ask for what it was shown."
        )
    return files


def _read_pickled(name: str, path: Path, size: int) -> ImageTable:
    settings = [str(path), size]
    fingerprint = fingerprint_files([path])
    return cached_images(name, settings, fingerprint, lambda: _pickled_blocks(path, size))


def _pickled_blocks(path: Path, size: int) -> Iterator[Block]:
    pixels, classes = _understand(path, read_pickle(path))
    with show_progress(f"Preparing {path.name}", len(pixels)) as advance:
        for label, rows in classes.items():
            yield label, _resized(pixels[rows], size)
            advance(len(rows))


def _understand(path: Path, content: Any) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Images and the rows of each class, in either of the two forms in use."""
    try:
        pixels = content["image_data"] if "image_data" in content else content["data"]
        if "class_dict" in content:
            classes = {
                str(label): np.asarray(rows, int) for label, rows in content["class_dict"].items()
            }
        else:
            labels = np.asarray(content["labels"], int)
            if len(labels) != len(pixels):
                raise ValueError
            classes = {str(label): np.flatnonzero(labels == label) for label in np.unique(labels)}
        rows = np.concatenate(list(classes.values()))
        if rows.ndim != 1:
            raise ValueError
        if min(map(len, classes.values())) == 0:
            raise ValueError
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[3] != 3 or not pixels.size:
            raise ValueError
        if rows.min() < 0 or rows.max() >= len(pixels) or len(np.unique(rows)) < len(rows):
            raise ValueError
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BmamlError(
            f"{path} does not hold miniImageNet as it is known: uint8 images as image_data (or data) "
            "and their classes, none of them empty, as class_dict (or as many labels)."
        ) from error
    return pixels, classes


def _resized(pixels: np.ndarray, size: int) -> np.ndarray:
    if pixels.shape[1:3] == (size, size):
        return pixels
    from PIL import Image

    images = (Image.fromarray(image).resize((size, size), Image.Resampling.LANCZOS) for image in pixels)
    return np.stack([np.asarray(image) for image in images])
