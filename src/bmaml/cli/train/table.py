"""`bmaml train table`: a table of your own."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro

from bmaml.cli.maybe import Maybe
from bmaml.cli.train.training import Train

if TYPE_CHECKING:
    from bmaml.tables.prepare import Prepared
    from bmaml.trained import Trained

Column = Annotated[str, tyro.conf.arg(metavar="COLUMN")]


@dataclass(frozen=True)
class TrainTable(Train):
    """Your own table: one row an observation, one column says which task it belongs to."""

    source: ClassVar[str] = "table"

    path: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="FILE")]] = field(kw_only=True)
    """a CSV or Parquet file"""
    task: Column = field(kw_only=True)
    """the column that says which task a row belongs to: a patient, machine, shop, species"""
    target: Column = field(kw_only=True)
    """the column to predict"""
    features: Annotated[Maybe[tuple[str, ...]], tyro.conf.arg(metavar="COLUMN [COLUMN ...]")] = None
    """the columns to predict it from, separated by spaces (default: all others)"""
    kind: Maybe[Literal["numbers", "labels"]] = None
    """what the target is (default: labels if it is text or has few distinct whole numbers)"""
    steps: int = 3_000
    """meta-updates"""
    shots: Maybe[int] = None
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
        from bmaml.errors import BmamlError
        from bmaml.tables.dealt import DealtTasks
        from bmaml.tables.model import TableModel
        from bmaml.tables.prepare import prepare
        from bmaml.tables.read import read_table
        from bmaml.tasks.table import TableTasks

        if self.shots is not None and self.shots < 1:
            raise BmamlError("--shots must be at least 1.")
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
        literal = [self.task, self.target]
        source = {"path": str(self.path.absolute()), **options}
        with self._separated_by_spaces():
            frame = read_table(self.path, columns, text=[self.task], literal=literal)
            prepared = prepare(frame, **options)
        self._tell_notes(prepared)
        batch_size = min(self.batch_size, len(prepared.parts["train"].counts))
        learned = {
            "encoding": prepared.encoding.to_json(),
            "dealt": DealtTasks.of(prepared.parts).to_json(),
            "shots": TableTasks(prepared, self.shots).most_support,
        }
        self.go_on({**source, **learned}, {"hidden": list(self.hidden), "batch_size": batch_size})
        return TableModel.fit(
            prepared,
            method=self.method,
            method_options=self.method_options(),
            hidden=self.hidden,
            shots=self.shots,
            source=source,
            **self.fit_options(),
        ).trained

    @property
    def targets(self) -> Literal["numbers", "labels"]:
        """As far as it was said; what is left out is known when the table has been read."""
        return self.kind or "numbers"

    @contextmanager
    def _separated_by_spaces(self) -> Iterator[None]:
        """Say how to name several columns to whoever has put commas between them."""
        from bmaml.errors import BmamlError

        try:
            yield
        except BmamlError as error:
            joined = [name for name in self.features or () if "," in name and repr(name) in str(error)]
            if not joined:
                raise
            names = " ".join(part for name in joined for part in name.split(",") if part)
            raise BmamlError(
                f"{str(error).rstrip('.')}; columns are separated by spaces: --features {names}."
            ) from error

    def in_units(self, metric: str) -> str:
        """Numbers are scaled for training by their spread over training tasks."""
        return " (in variances of the target)" if metric == "mse" else ""

    def _tell_notes(self, prepared: "Prepared") -> None:
        """What was made of the table; even if quiet, as what is left out is no progress."""
        from bmaml.scale import processes

        if processes.is_first():
            for note in (prepared.encoding.targets.told(self.target), *prepared.notes):
                print(f"Note: {note}", file=sys.stderr)
