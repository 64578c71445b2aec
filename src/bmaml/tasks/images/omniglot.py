"""Omniglot: 1623 handwritten characters of 50 alphabets, 20 drawings each."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bmaml.errors import BmamlError
from bmaml.tasks.images.cache import ImageTable, cached_images, fingerprint_files
from bmaml.tasks.images.decode import decode_classes
from bmaml.tasks.images.episodes import ImageEpisodes, Part
from bmaml.tasks.images.folder import image_files
from bmaml.tasks.images.image_file import VERSION, ImageForm
from bmaml.tasks.images.skipped import warn_of_another_size

# Every sixth of the 30 background alphabets in alphabetical order is for validation. By name, so that a
# copy which lacks some still validates on the same.
VALIDATION_STRIDE = 6
VALIDATION_ALPHABETS = {
    "Balinese",
    "Early_Aramaic",
    "Inuktitut_(Canadian_Aboriginal_Syllabics)",
    "Mkhedruli_(Georgian)",
    "Tifinagh",
}
# How many characters each part has as published, with twenty drawings of each.
CHARACTERS: dict[str, dict[Part, int]] = {
    "background": {"train": 806, "validation": 158, "test": 659},
    "vinyals": {"train": 1028, "validation": 172, "test": 423},
}
DRAWINGS = 20
LISTS = "train.txt, trainval.txt and test.txt"


@dataclass(frozen=True)
class Omniglot(ImageEpisodes):
    """Few-shot classification of handwritten characters, `size` × `size` grey, ink = 1, paper = 0.

    `folder` holds `images_background` and `images_evaluation` as they are published, with
    `ALPHABET/characterNN/*.png` in each. Drawings are reduced with antialiasing (Lanczos).

    `split` says which characters are for what:

    - "background": testing on all of `images_evaluation` (659 characters of 20 alphabets that
      training has never seen); of `images_background`, every sixth alphabet (Balinese, Early Aramaic,
      Inuktitut, Mkhedruli and Tifinagh: 158 characters) is for validation, the other 25 alphabets
      (806 characters) for training.
    - "vinyals": 1028, 172 and 423 characters of all alphabets mixed, from the lists train.txt,
      trainval.txt and test.txt (validation is what trainval adds to train) in `folder`, in its folder
      `splits`, or in `splits/vinyals`. Lines are `ALPHABET/characterNN`; a rotation may follow.

    With `rotations`, characters turned by 90°, 180° and 270° are further training classes. Whether
    they are further test classes as well differs between publications (Vinyals' lists name them for
    testing, too): that is `held_out_rotations`.

    Reference: Lake et al. 2015; the second split is that of Vinyals et al. 2016.
    """

    folder: str
    size: int = 28
    split: Literal["background", "vinyals"] = "background"
    rotations: bool = False
    held_out_rotations: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.size < 1:
            raise ValueError(f"size is {self.size}; an image has at least one pixel.")
        if self.split not in ("background", "vinyals"):
            raise ValueError(f"split is {self.split!r}; it must be 'background' or 'vinyals'.")

    @property
    def form(self) -> ImageForm:
        """Grey, and ink is 1."""
        return ImageForm(self.size, "grey", inverted=True)

    def rotates(self, part: Part) -> bool:
        """Turned characters are classes in training, and in testing only if asked for."""
        return self.rotations if part == "train" else self.held_out_rotations

    def read(self, part: Part) -> ImageTable:
        """The drawings of one part."""
        folder = Path(self.folder).expanduser().absolute()
        files = self._files(folder, part)
        fingerprint = fingerprint_files((path for paths in files.values() for path in paths), VERSION)
        settings = [str(folder), self.size, self.split, part]
        name = f"omniglot-{part}"
        table = cached_images(
            name, settings, fingerprint, lambda: decode_classes(name, files, self.form.read)
        )
        characters = CHARACTERS[self.split][part]
        warn_of_another_size("Omniglot", part, table.counts, characters, DRAWINGS)
        return table

    def _files(self, folder: Path, part: Part) -> dict[str, list[Path]]:
        if self.split == "vinyals":
            everywhere = _characters(folder, "images_background")
            everywhere |= _characters(folder, "images_evaluation")
            return _listed(everywhere, folder, part)
        if part == "test":
            return _characters(folder, "images_evaluation")
        characters = _characters(folder, "images_background")
        alphabets = sorted({name.split("/")[0] for name in characters})
        validation = VALIDATION_ALPHABETS.intersection(alphabets)
        validation = validation or set(alphabets[VALIDATION_STRIDE - 1 :: VALIDATION_STRIDE])
        if not validation:
            raise BmamlError(
                f"{folder / 'images_background'} has {len(alphabets)} alphabets of 30, too few to keep "
                "any for validation: complete the data set."
            )
        return {
            name: paths
            for name, paths in characters.items()
            if (name.split("/")[0] in validation) == (part == "validation")
        }


def _characters(folder: Path, half: str) -> dict[str, list[Path]]:
    """The drawings of each ALPHABET/characterNN."""
    try:
        paths = sorted(path for path in (folder / half).glob("*/*") if path.is_dir())
        files = {f"{path.parent.name}/{path.name}": image_files(path) for path in paths}
    except OSError as error:
        raise BmamlError(f"{folder / half} cannot be read ({error.strerror}).") from error
    files = {name: drawings for name, drawings in files.items() if drawings}
    if not files:
        raise BmamlError(
            f"{folder} is not a copy of Omniglot: {half}/ALPHABET/characterNN/*.png was looked for; "
            "give the folder that holds images_background and images_evaluation."
        )
    return files


def _listed(characters: dict[str, list[Path]], folder: Path, part: Part) -> dict[str, list[Path]]:
    """The characters that the lists of a split give to a part."""
    places = [folder, folder / "splits", folder / "splits" / "vinyals"]
    place = next((place for place in places if (place / "trainval.txt").is_file()), None)
    if place is None:
        raise BmamlError(
            f"The lists of the Vinyals split, {LISTS}, are neither in {folder} nor in its folder "
            "splits: put them there, or use split='background'."
        )
    if part == "test":
        names = _read_list(place / "test.txt")
    elif part == "train":
        names = _read_list(place / "train.txt")
    else:
        names = _read_list(place / "trainval.txt") - _read_list(place / "train.txt")
    if missing := sorted(names - characters.keys()):
        raise BmamlError(
            f"{place} lists {len(missing)} characters that {folder} does not have, {missing[0]} for "
            "one: complete the data set."
        )
    return {name: characters[name] for name in sorted(names)}


def _read_list(path: Path) -> set[str]:
    """ALPHABET/characterNN of each line, whatever rotation follows."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BmamlError(f"{path} cannot be read: the Vinyals split needs {LISTS}.") from error
    return {"/".join(line.strip().split("/")[:2]) for line in lines if line.strip()}
