"""`bmaml train`: meta-train a method on a source of tasks."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from bmaml.cli.method_options import method_options
from bmaml.cli.where import Where

if TYPE_CHECKING:
    from bmaml.trained import Trained

# What `bmaml train` knows by name; anything else is a path.
BUILT_IN = ("sinusoid", "glyphs", "omniglot", "miniimagenet", "folder", "table")
MethodName = Literal["maml", "fomaml", "emaml", "reptile", "bfa", "bmaml"]
SamplerName = Literal["gd", "svgd", "sgld", "hmc"]
DistanceName = Literal["paired", "mmd", "prediction"]


@dataclass(frozen=True)
class Train:
    """What every training has, whatever its tasks are."""

    source: ClassVar[str]
    # Options that belong to the tasks, and to the network.
    task_fields: ClassVar[tuple[str, ...]] = ()
    model_fields: ClassVar[tuple[str, ...]] = ()

    out: Path
    """the run folder"""
    method: MethodName = "bmaml"
    """see `bmaml methods`"""
    particles: int | None = None
    """M, the number of particles (default: the method's own)"""
    steps: int = 10_000
    """meta-updates"""
    seed: int = 0
    """seed of tasks, initial particles and batches"""
    batch_size: int = 10
    """tasks a meta-update"""
    validate_every: int | None = None
    """meta-updates between validations (default: about a hundredth of all)"""
    step_size: float | None = None
    """inner step size (default: the method's own)"""
    inner_steps: int | None = None
    """inner steps (default: the method's own)"""
    settings: Literal["paper", "authors"] = "paper"
    """the paper's mathematics, or what its authors' code does"""
    sampler: SamplerName | None = None
    """bfa, bmaml: the inner update (default: svgd)"""
    kernel: str | None = None
    """bfa, bmaml: the kernel of svgd, such as imq, rbf-layers, rbf-learned, rbf-70 (`bmaml methods`)"""
    temperature: float | None = None
    """bfa, bmaml: of the posterior that sgld and hmc sample (default: nearly zero)"""
    distance: DistanceName | None = None
    """bmaml: from chaser to leader (default: paired)"""
    learned_steps: bool = False
    """meta-learn an inner step size for every parameter"""
    tasks_at_once: int | None = None
    """tasks that a device works on at a time, to save memory (default: all it has)"""
    resume: bool = False
    """go on with an interrupted run"""
    quiet: bool = False
    """no progress bar"""
    where: tyro.conf.OmitArgPrefixes[Where] = field(default_factory=Where)
    """more than one device, process or machine"""

    def run(self) -> None:
        """Train and say where the result is."""
        from bmaml.errors import BmamlError

        if self.steps < 1 or self.batch_size < 1:
            raise BmamlError("--steps and --batch-size must be at least 1.")
        if self.particles is not None and self.method in ("maml", "fomaml") and self.particles != 1:
            raise BmamlError(f"{self.method} has one particle: leave out --particles, or use emaml.")
        with self.where.together() as speaks:
            try:
                trained = self.fit()
            except ValueError as error:  # numbers that do not go together, such as too few tasks
                raise BmamlError(str(error)) from error
            if speaks:
                self._tell(trained)

    def _tell(self, trained: "Trained") -> None:
        name, _ = trained.learner.posterior.likelihood.selection
        best = next(entry for entry in trained.history if entry["step"] == trained.step)
        print(
            f"Trained {self.steps} updates; validation {name} {best['validation'][name]:.3f} at "
            f"update {trained.step}. Next: bmaml evaluate {self.out}"
        )

    def fit(self) -> "Trained":
        """Meta-train on the named tasks."""
        from bmaml.recipe import Recipe
        from bmaml.train import fit

        recipe = Recipe(
            tasks=self.source,
            method=self.method,
            method_options=self.method_options(),
            task_options=self.task_options(),
            model_options={name: getattr(self, name) for name in self.model_fields},
        )
        return fit(
            recipe.learner(),
            recipe.task_source(),
            description=recipe.to_json(),
            **self.fit_options(),
        )

    def method_options(self) -> dict[str, Any]:
        """The options of the method that were given."""
        return method_options(self)

    def fit_options(self) -> dict[str, Any]:
        """The options of `bmaml.fit`."""
        return {
            "steps": self.steps,
            "seed": self.seed,
            "batch_size": self.batch_size,
            "validate_every": self.validate_every,
            "out": self.out,
            "resume": self.resume,
            "progress": not self.quiet,
            "devices": self.where.devices,
            "tasks_at_once": self.tasks_at_once,
        }

    def task_options(self) -> dict[str, Any]:
        """The options of the tasks, as values for a JSON file."""
        options = {name: getattr(self, name) for name in self.task_fields}
        return {
            name: str(value.absolute()) if isinstance(value, Path) else value
            for name, value in options.items()
        } | {"num_tasks": options["num_tasks"] or None}


@dataclass(frozen=True)
class TrainSinusoid(Train):
    """The paper's regression: curves that differ in amplitude, frequency and phase."""

    source: ClassVar[str] = "sinusoid"
    task_fields: ClassVar[tuple[str, ...]] = ("shots", "num_tasks")

    shots: int = 5
    """K, support examples a task"""
    num_tasks: int = 100
    """|T|, training tasks, drawn once; 0 draws fresh tasks without end"""


@dataclass(frozen=True)
class TrainImages(Train):
    """What every training on image classes has."""

    task_fields: ClassVar[tuple[str, ...]] = ("ways", "shots", "query_shots", "num_tasks")
    model_fields: ClassVar[tuple[str, ...]] = ("filters", "norm")

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
    filters: int = 64
    """channels of each convolution"""
    norm: Literal["example", "task", "transductive", "none"] = "example"
    """normalisation: by each image alone, by the task's support images, by support and query together
    (transductive: a prediction then depends on the other queries), or not at all"""


@dataclass(frozen=True)
class TrainGlyphs(TrainImages):
    """Characters of many scripts, drawn from Matplotlib's typefaces: no download."""

    source: ClassVar[str] = "glyphs"


@dataclass(frozen=True)
class TrainOmniglot(TrainImages):
    """Handwritten characters of 50 alphabets, from your copy of Omniglot."""

    source: ClassVar[str] = "omniglot"
    task_fields: ClassVar[tuple[str, ...]] = (*TrainImages.task_fields, "folder", "split", "rotations")

    folder: Path = field(kw_only=True)
    """the folder with images_background and images_evaluation"""
    split: Literal["background", "vinyals"] = "background"
    """unseen alphabets, or the characters of Vinyals' lists"""
    rotations: bool = False
    """characters turned by 90°, 180° and 270° are further training classes"""


@dataclass(frozen=True)
class TrainMiniImageNet(TrainImages):
    """Photographs of 100 kinds of things, from your copy of miniImageNet."""

    source: ClassVar[str] = "miniimagenet"
    task_fields: ClassVar[tuple[str, ...]] = (*TrainImages.task_fields, "folder")

    folder: Path = field(kw_only=True)
    """the folder with your copy: images and csv files, a folder for each class, or pickled arrays"""


@dataclass(frozen=True)
class TrainFolder(TrainImages):
    """Your own images, in a folder for each class."""

    source: ClassVar[str] = "folder"
    task_fields: ClassVar[tuple[str, ...]] = (
        *TrainImages.task_fields,
        *("folder", "size", "colour", "validation_share", "test_share"),
    )

    folder: tyro.conf.Positional[Path] = field(kw_only=True)
    """a folder with a folder for each class, or with train, val and test that hold those"""
    size: int = 84
    """images become so many pixels wide and high"""
    colour: bool = True
    """keep colours"""
    validation_share: float = 0.2
    """of the classes, to choose the checkpoint"""
    test_share: float = 0.2
    """of the classes, for `bmaml evaluate`"""


@dataclass(frozen=True)
class TrainTable(Train):
    """Your own table: one row an observation, one column says which task it belongs to."""

    source: ClassVar[str] = "table"

    path: tyro.conf.Positional[Path] = field(kw_only=True)
    """a CSV or Parquet file"""
    task: str = field(kw_only=True)
    """the column that says which task a row belongs to: a patient, machine, shop, species"""
    target: str = field(kw_only=True)
    """the column to predict"""
    features: tuple[str, ...] | None = None
    """the columns to predict it from (default: all others)"""
    kind: Literal["numbers", "labels"] | None = None
    """what the target is (default: labels if it is text or has few distinct whole numbers)"""
    steps: int = 3_000
    """meta-updates"""
    shots: int | None = None
    """the most rows to adapt to (default: half of a typical task, at most 10)"""
    hidden: tuple[int, ...] = (40, 40, 40)
    """the widths of the network's hidden layers"""
    validation_share: float = 0.15
    """of the tasks, to choose the checkpoint"""
    test_share: float = 0.15
    """of the tasks, for `bmaml evaluate`"""
    split_seed: int = 0
    """which tasks are which; apart from --seed, so that its runs are tested on the same tasks"""

    def fit(self) -> "Trained":
        """Read the table, say what was made of it, and meta-train."""
        from bmaml.tables.model import TableModel
        from bmaml.tables.prepare import prepare
        from bmaml.tables.read import read_table

        options = {
            "task": self.task,
            "target": self.target,
            "features": None if self.features is None else list(self.features),
            "kind": self.kind,
            "validation_share": self.validation_share,
            "test_share": self.test_share,
            "seed": self.split_seed,
        }
        columns = None if self.features is None else [self.task, self.target, *self.features]
        prepared = prepare(read_table(self.path, columns, text=[self.task]), **options)
        if not self.quiet:
            for note in prepared.notes:
                print(f"Note: {note}")
        return TableModel.fit(
            prepared,
            method=self.method,
            method_options=self.method_options(),
            hidden=self.hidden,
            shots=self.shots,
            source={"path": str(self.path.absolute()), **options},
            **self.fit_options(),
        ).trained


TrainCommand = Annotated[
    Annotated[TrainSinusoid, tyro.conf.subcommand("sinusoid")]
    | Annotated[TrainGlyphs, tyro.conf.subcommand("glyphs")]
    | Annotated[TrainOmniglot, tyro.conf.subcommand("omniglot")]
    | Annotated[TrainMiniImageNet, tyro.conf.subcommand("miniimagenet")]
    | Annotated[TrainFolder, tyro.conf.subcommand("folder")]
    | Annotated[TrainTable, tyro.conf.subcommand("table")],
    tyro.conf.subcommand(
        "train",
        description="Meta-train a method; the run folder holds checkpoints, logs and a recipe.",
    ),
]


def name_the_kind(arguments: list[str]) -> list[str]:
    """`train data.csv …` as `train table data.csv …`, and `train pictures/ …` as `train folder …`."""
    if arguments[:1] != ["train"] or len(arguments) < 2 or arguments[1] in BUILT_IN:
        return arguments
    path = Path(arguments[1])
    if path.is_dir():
        return ["train", "folder", *arguments[1:]]
    # A misspelt name is left to the parser, which knows the right ones.
    if path.suffix or path.exists():
        return ["train", "table", *arguments[1:]]
    return arguments
