"""`bmaml train`: all its sources of tasks, and which of them a path means."""

from pathlib import Path
from typing import Annotated

import tyro

from bmaml.cli.train.images import TrainFolder, TrainGlyphs, TrainMiniImageNet, TrainOmniglot
from bmaml.cli.train.sinusoid import TrainSinusoid
from bmaml.cli.train.table import TrainTable
from bmaml.cli.train.training import Train
from bmaml.cli.usage import nearest
from bmaml.errors import BmamlError

# What `bmaml train` knows by name; anything else is a path.
KINDS: dict[str, type[Train]] = {
    kind.source: kind
    for kind in (
        *(TrainSinusoid, TrainGlyphs, TrainOmniglot, TrainMiniImageNet),
        *(TrainFolder, TrainTable),
    )
}

TrainCommand = Annotated[
    Annotated[TrainSinusoid, tyro.conf.subcommand("sinusoid")]
    | Annotated[TrainGlyphs, tyro.conf.subcommand("glyphs")]
    | Annotated[TrainOmniglot, tyro.conf.subcommand("omniglot")]
    | Annotated[TrainMiniImageNet, tyro.conf.subcommand("miniimagenet")]
    | Annotated[TrainFolder, tyro.conf.subcommand("folder")]
    | Annotated[TrainTable, tyro.conf.subcommand("table")],
    tyro.conf.subcommand(
        "train",
        description="Meta-train a method; the run folder holds checkpoints, logs and a recipe.\n\n"
        "Your own data: `bmaml train FILE.csv` is a table, `bmaml train FOLDER/` pictures in a folder "
        "for each class.",
    ),
]


def name_the_kind(arguments: list[str]) -> list[str]:
    """`train data.csv …` as `train table data.csv …`, and `train pictures/ …` as `train folder …`."""
    if arguments[:1] != ["train"] or len(arguments) < 2 or arguments[1] in KINDS:
        return arguments
    path = Path(arguments[1])
    if not path.exists() and not path.suffix and not arguments[1].startswith("-"):
        raise BmamlError(
            f"There is no file or folder {arguments[1]!r}, and it is none of {', '.join(KINDS)}"
            f"{nearest(arguments[1], list(KINDS))}."
        )
    if path.is_dir():
        return ["train", "folder", *arguments[1:]]
    if path.suffix or path.exists():
        return ["train", "table", *arguments[1:]]
    return arguments
