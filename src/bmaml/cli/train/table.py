"""`bmaml train table`: a table of your own."""

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

import tyro

from bmaml.cli.train.training import Train

if TYPE_CHECKING:
    from bmaml.tables.prepare import Prepared
    from bmaml.trained import Trained


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
        from bmaml.errors import BmamlError
        from bmaml.tables.model import TableModel
        from bmaml.tables.prepare import prepare
        from bmaml.tables.read import read_table

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
        frame = read_table(self.path, columns, text=[self.task], literal=literal)
        prepared = prepare(frame, **options)
        self._tell_notes(prepared)
        return TableModel.fit(
            prepared,
            method=self.method,
            method_options=self.method_options(),
            hidden=self.hidden,
            shots=self.shots,
            source={"path": str(self.path.absolute()), **options},
            **self.fit_options(),
        ).trained

    def in_units(self, metric: str) -> str:
        """Numbers are scaled for training by their spread over training tasks."""
        return " (in variances of the target)" if metric == "mse" else ""

    def _tell_notes(self, prepared: "Prepared") -> None:
        """What was made of the table; even if quiet, as what is left out is no progress."""
        from bmaml.scale import processes

        if processes.is_first():
            for note in (prepared.encoding.targets.told(self.target), *prepared.notes):
                print(f"Note: {note}", file=sys.stderr)
