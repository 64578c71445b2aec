"""`bmaml train` on image classes: glyphs, Omniglot, miniImageNet, or folders of your own."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal

import tyro

from bmaml.cli.maybe import Maybe
from bmaml.cli.train.training import Train


@dataclass(frozen=True)
class TrainImages(Train):
    """What every training on image classes has."""

    task_fields: ClassVar[tuple[str, ...]] = ("ways", "shots", "query_shots", "num_tasks")
    model_fields: ClassVar[tuple[str, ...]] = ("blocks", "filters", "norm")

    batch_size: int = 16
    """tasks a meta-update"""
    ways: int = 5
    """N, classes a task"""
    shots: int = 1
    """K, support images a class"""
    query_shots: int = 1
    """query images a class in training tasks"""
    num_tasks: int = 0
    """|T|, training tasks, drawn once; 0 draws fresh tasks without end"""
    blocks: Maybe[int] = None
    """convolutions, each of which halves the image (default: down to one or two pixels)"""
    filters: int = 64
    """channels of each convolution"""
    norm: Literal["example", "task", "transductive", "none"] = "example"
    """normalisation: by each image alone, by the task's support images, by support and query together
    (transductive: a prediction then depends on the other queries), or not at all"""

    @property
    def targets(self) -> Literal["numbers", "labels"]:
        """Classes."""
        return "labels"

    def devices(self) -> int | None:
        """As many as were asked for, or else one for each core, as far as the batch can be shared."""
        if self.where.devices is not None or self.where.coordinator is not None:
            return self.where.devices
        from bmaml.scale import device_for_each_core

        return device_for_each_core(self.batch_size)


@dataclass(frozen=True)
class TrainGlyphs(TrainImages):
    """Characters of many scripts, drawn from Matplotlib's typefaces: no download."""

    source: ClassVar[str] = "glyphs"


@dataclass(frozen=True)
class TrainOmniglot(TrainImages):
    """Handwritten characters of 50 alphabets, from your copy of Omniglot."""

    source: ClassVar[str] = "omniglot"
    task_fields: ClassVar[tuple[str, ...]] = (*TrainImages.task_fields, "folder", "split", "rotations")

    folder: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = field(kw_only=True)
    """the folder with images_background and images_evaluation"""
    split: Literal["background", "vinyals"] = "background"
    """unseen alphabets, or the characters of Vinyals' lists"""
    rotations: bool = False
    """characters turned by 90°, 180° and 270° are further training classes"""


@dataclass(frozen=True)
class TrainMiniImageNet(TrainImages):
    """Photographs of 100 kinds of things, from your copy of miniImageNet."""

    source: ClassVar[str] = "miniimagenet"
    task_fields: ClassVar[tuple[str, ...]] = (*TrainImages.task_fields, "folder", "size")

    folder: Annotated[Path, tyro.conf.arg(metavar="FOLDER")] = field(kw_only=True)
    """the folder with your copy: images and csv files, a folder for each class, or pickled arrays"""
    size: int = 84
    """photographs become so many pixels wide and high"""


@dataclass(frozen=True)
class TrainFolder(TrainImages):
    """Your own images, in a folder for each class."""

    source: ClassVar[str] = "folder"
    task_fields: ClassVar[tuple[str, ...]] = (
        *TrainImages.task_fields,
        *("folder", "size", "colour", "validation_share", "test_share"),
    )

    folder: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="FOLDER")]] = field(kw_only=True)
    """a folder with a folder for each class, or with train, val and test that hold those"""
    size: int = 84
    """images become so many pixels wide and high"""
    colour: bool = True
    """keep colours"""
    validation_share: float = 0.2
    """of the classes, to choose the checkpoint"""
    test_share: float = 0.2
    """of the classes, for `bmaml evaluate`"""
