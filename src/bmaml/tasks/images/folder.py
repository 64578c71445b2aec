"""Your own images, in a folder for each class."""

import os
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import ClassVar

import numpy as np

from bmaml.errors import BmamlError
from bmaml.tasks.images.cache import ImageTable, cached_images, fingerprint_files
from bmaml.tasks.images.decode import decode_classes
from bmaml.tasks.images.episodes import ImageEpisodes, Part
from bmaml.tasks.images.image_file import VERSION, ImageForm, UnreadableImageError, quiet_pillow
from bmaml.tasks.images.skipped import Skipped, shown, warn_of_skipped
from bmaml.tasks.source import Split

# With some that can often not be read, such as a telephone's: to name them is better than silence.
SUFFIXES = frozenset(
    {".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".jp2", ".bmp", ".gif", ".tif", ".tiff"}
    | {".webp", ".avif", ".heic", ".heif", ".pbm", ".pgm", ".pnm", ".ppm"}
)
# What people call the folder of each part.
PART_NAMES: dict[Part, tuple[str, ...]] = {
    "train": ("train", "training"),
    "validation": ("val", "validation", "valid"),
    "test": ("test",),
}


@dataclass(frozen=True)
class ImageFolder(ImageEpisodes):
    """Images of any size, grey or coloured, in a folder for each class.

    `folder` has either folders `train`, `val` and `test` with a folder for each class inside, or the
    folders of the classes themselves. The latter are dealt out by a shuffle of their names that
    depends on `seed`: `validation_share` of them for validation, `test_share` for testing, the others
    for training. Images become `size` × `size` pixels, in colour or grey. Files that cannot be read
    are left out, with a warning that names them, and so are classes with too few images for a task. A
    held-out task has `held_out_query` query images of each class, or as many as the smallest has left.
    """

    leaves_out_small_classes: ClassVar[bool] = True

    folder: str
    size: int = 84
    colour: bool = True
    validation_share: float = 0.2
    test_share: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise ValueError(f"size is {self.size}; an image has at least one pixel.")
        shares = (self.validation_share, self.test_share)
        if min(shares) < 0 or sum(shares) >= 1:
            raise ValueError("validation_share and test_share must leave classes for training.")

    @property
    def form(self) -> ImageForm:
        """As `size` and `colour` say."""
        return ImageForm(self.size, "colour" if self.colour else "grey")

    def read(self, part: Part) -> ImageTable:
        """The images of one part."""
        folder = Path(self.folder).expanduser().absolute()
        if any((folder / name).is_dir() for name in PART_NAMES["train"]):
            found = part_folder(folder, part)
            if found is None:
                raise BmamlError(
                    f"{folder} has a folder for training but none for {part}: add "
                    f"{' or '.join(PART_NAMES[part])}, with a folder for each class inside."
                )
            require_unseen(folder, part_classes(folder))
            return read_image_classes("folder", class_files(found), self.form)
        files = self._dealt(class_files(folder), part)
        if not files:
            raise BmamlError(f"{folder} has too few classes to keep any for {part}: add classes.")
        return read_image_classes("folder", files, self.form)

    def _held_out_query(self, split: Split) -> int:
        """As many as the smallest class has to spare: people's classes have a few images each."""
        counts = self._table(split).counts
        spare = counts[counts > self.shots] - self.shots
        return min(self.held_out_query, int(spare.min()) if len(spare) else 1)

    def _dealt(self, files: dict[str, list[Path]], part: Part) -> dict[str, list[Path]]:
        order = np.random.default_rng(self.seed).permutation(len(files))
        names = [sorted(files)[position] for position in order]
        first = round(self.validation_share * len(names))
        second = first + round(self.test_share * len(names))
        parts = {"validation": names[:first], "test": names[first:second], "train": names[second:]}
        return {name: files[name] for name in sorted(parts[part])}


def read_image_classes(
    name: str, files: dict[str, list[Path]], form: ImageForm, *, skip_broken: bool = True
) -> ImageTable:
    """Images of each class through the cache; broken files are named and left out, or an error.

    They are named when they are decoded, and not again as long as the cache has the others.
    """
    skipped: list[Skipped] = []

    def decode(path: Path) -> np.ndarray | None:
        try:
            return form.read(path)
        except UnreadableImageError as error:
            if not skip_broken:
                raise
            skipped.append(Skipped(str(path), error.reason))
            return None

    names = {label: [str(path) for path in paths] for label, paths in files.items()}
    every = [path for paths in files.values() for path in paths]
    # A link that points nowhere has no state to look at; it is one more broken file.
    present = (path for path in every if os.path.exists(path)) if skip_broken else every
    fingerprint = fingerprint_files(present, names, VERSION)
    # The labels tell the parts of a data set apart.
    settings = [form.size, form.mode, sorted(names), _common_folder(files)]
    try:
        with quiet_pillow():
            table = cached_images(
                name, settings, fingerprint, lambda: decode_classes(name, files, decode)
            )
    except BmamlError as error:
        if len(skipped) < len(every):
            raise
        raise BmamlError(
            f"None of the {len(every)} files is an image that can be read, such as "
            f"{shown(skipped[0].file)} ({skipped[0].reason}): check the folder."
        ) from error
    warn_of_skipped(skipped, len(every))
    return table


def require_unseen(folder: Path, classes: Mapping[Part, Set[str]]) -> None:
    """Refuse parts that share a class: held-out tasks are about classes that training never saw."""
    for first, second in combinations(classes, 2):
        if shared := sorted(classes[first] & classes[second]):
            raise BmamlError(
                f"{folder} has the class {shown(shared[0])} both for {first} and for {second}: give "
                "each part classes of its own (pictures of one class all go into one part)."
            )


def class_files(folder: Path) -> dict[str, list[Path]]:
    """The image files of each folder in `folder`, both in alphabetical order."""
    files = {path.name: image_files(path) for path in class_folders(folder)}
    files = {name: paths for name, paths in files.items() if paths}
    if not files:
        raise BmamlError(
            f"{folder} has no images in folders: put those of each class into a folder of its own."
        )
    return files


def class_folders(folder: Path) -> list[Path]:
    """The folders in a folder, in alphabetical order; hidden ones are none."""
    try:
        return sorted(
            path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")
        )
    except OSError as error:
        raise _cannot_be_read(folder, error) from error


def image_files(folder: Path) -> list[Path]:
    """The images in a folder and the folders in it, in alphabetical order; hidden ones are none."""
    return sorted(
        Path(place, name)
        for place, names in _walk(folder)
        for name in names
        if os.path.splitext(name)[1].lower() in SUFFIXES and not name.startswith(".")
    )


def _walk(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Every folder with the names of its files; links to folders are followed, but never in circles."""

    def fail(error: OSError) -> None:
        raise _cannot_be_read(Path(error.filename or folder), error) from error

    seen: set[tuple[int, int]] = set()
    for place, folders, names in os.walk(folder, followlinks=True, onerror=fail):
        status = os.stat(place)
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield place, names


def _cannot_be_read(folder: Path, error: OSError) -> BmamlError:
    return BmamlError(
        f"{folder} cannot be read ({error.strerror}): give the folder that holds the images."
    )


def part_folder(folder: Path, part: Part) -> Path | None:
    """The folder of a part under one of its usual names."""
    return next((folder / name for name in PART_NAMES[part] if (folder / name).is_dir()), None)


def part_classes(folder: Path) -> dict[Part, set[str]]:
    """The names of the classes of each part that has a folder."""
    return {
        part: {path.name for path in class_folders(found)}
        for part in PART_NAMES
        if (found := part_folder(folder, part))
    }


def _common_folder(files: dict[str, list[Path]]) -> str:
    first = next(iter(files.values()), None)
    return str(first[0].parent.parent) if first else ""
