"""Your own images, in a folder for each class."""

import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bmaml.errors import BmamlError
from bmaml.tasks.images.cache import ImageTable, cached_images, fingerprint_files
from bmaml.tasks.images.decode import Mode, decode_classes, read_image
from bmaml.tasks.images.episodes import ImageEpisodes, Part

SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm"}
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
    are left out, with a warning that names them.
    """

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

    def read(self, part: Part) -> ImageTable:
        """The images of one part."""
        mode: Mode = "colour" if self.colour else "grey"
        folder = Path(self.folder).expanduser().absolute()
        if any((folder / name).is_dir() for name in PART_NAMES["train"]):
            found = part_folder(folder, part)
            if found is None:
                raise BmamlError(
                    f"{folder} has a folder for training but none for {part}: add "
                    f"{' or '.join(PART_NAMES[part])}, with a folder for each class inside."
                )
            return read_image_classes("folder", class_files(found), self.size, mode)
        files = self._dealt(class_files(folder), part)
        if not files:
            raise BmamlError(f"{folder} has too few classes to keep any for {part}: add classes.")
        return read_image_classes("folder", files, self.size, mode)

    def _dealt(self, files: dict[str, list[Path]], part: Part) -> dict[str, list[Path]]:
        order = np.random.default_rng(self.seed).permutation(len(files))
        names = [sorted(files)[position] for position in order]
        first = round(self.validation_share * len(names))
        second = first + round(self.test_share * len(names))
        parts = {"validation": names[:first], "test": names[first:second], "train": names[second:]}
        return {name: files[name] for name in sorted(parts[part])}


def read_image_classes(
    name: str, files: dict[str, list[Path]], size: int, mode: Mode, *, skip_broken: bool = True
) -> ImageTable:
    """Images of each class through the cache; broken files are named and left out, or an error."""
    broken: list[str] = []

    def decode(path: Path) -> np.ndarray | None:
        try:
            return read_image(path, size, mode)
        except BmamlError:
            if not skip_broken:
                raise
            broken.append(str(path))
            return None

    paths = {label: [str(path) for path in paths] for label, paths in files.items()}
    fingerprint = fingerprint_files((path for paths in files.values() for path in paths), paths)
    # The labels tell the parts of a data set apart.
    settings = [size, mode, sorted(paths), _common_folder(files)]
    table = cached_images(name, settings, fingerprint, lambda: decode_classes(name, files, decode))
    if broken:
        told = ", ".join(broken[:5]) + (", …" if len(broken) > 5 else "")
        warnings.warn(
            f"{len(broken)} of {sum(map(len, files.values()))} files are not images that can be read "
            f"and were left out: {told}",
            stacklevel=2,
        )
    return table


def class_files(folder: Path) -> dict[str, list[Path]]:
    """The image files of each folder in `folder`, both in alphabetical order."""
    try:
        classes = sorted(path for path in folder.iterdir() if path.is_dir())
        files = {path.name: image_files(path) for path in classes}
    except OSError as error:
        raise BmamlError(
            f"{folder} cannot be read ({error.strerror}): give the folder that holds the images."
        ) from error
    files = {name: paths for name, paths in files.items() if paths}
    if not files:
        raise BmamlError(f"{folder} has no images: put those of each class into a folder of its own.")
    return files


def image_files(folder: Path) -> list[Path]:
    """The images in a folder, in alphabetical order; hidden files are none."""
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix.lower() in SUFFIXES and not path.name.startswith(".")
    )


def part_folder(folder: Path, part: Part) -> Path | None:
    """The folder of a part under one of its usual names."""
    return next((folder / name for name in PART_NAMES[part] if (folder / name).is_dir()), None)


def _common_folder(files: dict[str, list[Path]]) -> str:
    first = next(iter(files.values()), None)
    return str(first[0].parent.parent) if first else ""
