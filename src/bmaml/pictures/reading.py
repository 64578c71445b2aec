"""A person's pictures, labelled and not, as arrays; files that are no pictures are left out."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, UInt8

from bmaml.errors import BmamlError
from bmaml.pictures.model import PictureModel
from bmaml.tasks.images.decode import in_parallel
from bmaml.tasks.images.folder import class_folders, image_files
from bmaml.tasks.images.image_file import ImageForm, UnreadableImageError
from bmaml.tasks.images.skipped import Skipped, shown

PathLike = str | os.PathLike[str]
Pixels = UInt8[np.ndarray, "rows size size channels"]
# Files that a thread reads before it hands them over: few, so that little waits in memory.
FILES_IN_A_JOB = 16


class Labelled(NamedTuple):
    """Pictures of known classes: `classes[labels[i]]` is that of `files[i]`."""

    classes: tuple[str, ...]
    files: list[Path]
    pixels: Pixels
    labels: Int[np.ndarray, " rows"]


def read_labelled(
    model: PictureModel, folder: PathLike | None, skipped: list[Skipped]
) -> tuple[Labelled, int]:
    """The pictures in a folder with a folder for each class, and how many files there were.

    Files that cannot be read are added to `skipped`.
    """
    if folder is None:
        raise BmamlError(
            "Classes of pictures are told apart by examples: give --support, a folder with a folder "
            "of labelled pictures for each class."
        )
    folders = class_folders(_existing(folder))
    if len(folders) < 2:
        has = f"one folder, {shown(folders[0].name)}" if folders else "no folders"
        raise BmamlError(
            f"{folder} has {has}: it needs a folder for each class, and at least two, with labelled "
            "pictures in them."
        )
    if len(folders) > model.ways:
        raise BmamlError(
            f"{folder} has {len(folders)} classes, but this run tells {model.ways} apart: train one "
            f"with --ways {len(folders)}, or take {len(folders) - model.ways} of the folders away."
        )
    paths = {place: image_files(place) for place in folders}
    every = [path for place in folders for path in paths[place]]
    read = list(read_pictures(every, model.form, skipped))
    label_of = {path: label for label, place in enumerate(folders) for path in paths[place]}
    labels = np.array([label_of[path] for path, _ in read], np.int32)
    for label, place in enumerate(folders):
        if label not in labels:
            what = "none of its files can be read" if paths[place] else "it has none"
            raise BmamlError(
                f"{shown(str(place))} needs at least one labelled picture, and {what}: add one, or "
                "take the folder away."
            )
    pixels = np.stack([image for _, image in read])
    names = tuple(place.name for place in folders)
    return Labelled(names, [path for path, _ in read], pixels, labels), len(every)


def picture_files(folder: PathLike) -> tuple[Path, list[Path]]:
    """A folder and the pictures in it, however deep; or the folder of one picture and that alone."""
    place = _existing(folder)
    if place.is_file():
        return place.parent, [place]
    files = image_files(place)
    if not files:
        raise BmamlError(f"{folder} has no pictures: give a folder of image files, or one such file.")
    return place, files


def read_batches(
    files: Sequence[Path], form: ImageForm, rows: int, skipped: list[Skipped]
) -> Iterator[tuple[list[Path], Pixels]]:
    """`rows` pictures at a time, the last time fewer, in the order of `files`."""
    pictures = read_pictures(files, form, skipped)
    while batch := list(islice(pictures, rows)):
        yield [path for path, _ in batch], np.stack([image for _, image in batch])


def read_pictures(
    files: Sequence[Path], form: ImageForm, skipped: list[Skipped]
) -> Iterator[tuple[Path, np.ndarray]]:
    """The pictures in order, read in parallel; those that cannot be read are added to `skipped`."""

    def read(path: Path) -> np.ndarray | Skipped:
        try:
            return form.read(path)
        except UnreadableImageError as error:
            return Skipped(str(path), error.reason)

    jobs = [files[start : start + FILES_IN_A_JOB] for start in range(0, len(files), FILES_IN_A_JOB)]
    done = in_parallel(lambda job: [read(path) for path in job], jobs)
    for job, results in zip(jobs, done, strict=True):
        for path, result in zip(job, results, strict=True):
            if isinstance(result, Skipped):
                skipped.append(result)
            else:
                yield path, result


def _existing(path: PathLike) -> Path:
    place = Path(path).expanduser()
    if not os.path.exists(place):
        raise BmamlError(f"{path} does not exist: give a folder with pictures.")
    return place
