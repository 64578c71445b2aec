"""`bmaml suggest`: what to measure or label next."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bmaml.cli.maybe import Maybe


@dataclass(frozen=True)
class Suggest:
    """Say which rows or pictures of a pool are worth measuring or labelling next, and why."""

    folder: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="RUN")]]
    """a run folder written by `bmaml train`"""
    pool: Path
    """what could be labelled: a CSV or Parquet file, or a folder of pictures"""
    support: Maybe[Path] = None
    """what is known of the task so far, as for `bmaml predict`"""
    count: int = 5
    """how many to suggest"""
    acquisition: Maybe[str] = None
    """for classes: entropy, mutual_information, margin or random (default: entropy)"""
    out: Maybe[Path] = None
    """write a file, .csv, .csv.gz or .parquet, instead of printing a table"""
    steps: Maybe[int] = None
    """adaptation steps (default: as trained)"""

    def run(self) -> None:
        """Load, adapt, rank, tell."""
        from bmaml.cli.output import check_out, print_frame, speaking_warnings, write_frame
        from bmaml.errors import BmamlError
        from bmaml.recipe import Recipe
        from bmaml.run_folder import read_description

        if self.count < 1:
            raise BmamlError("--count must be at least 1.")
        if self.steps is not None and self.steps < 0:
            raise BmamlError("--steps must not be negative.")
        check_out(self.out, [self.pool, self.support])
        recipe = Recipe.from_json(read_description(self.folder))
        try:
            with speaking_warnings():
                frame = self._pictures() if recipe.rows.inputs == "images" else self._table()
        except ValueError as error:  # an acquisition of another kind, more rows than there are
            raise BmamlError(str(error)) from error
        if self.out is None:
            print_frame(frame, f"What to label next, of {self.pool}")
        else:
            write_frame(frame, self.out)

    def _table(self):
        import pandas

        from bmaml.tables.model import TableModel
        from bmaml.tables.suggest import suggest_rows

        model = TableModel.load(self.folder)
        pool = model.read(self.pool)
        support = None if self.support is None else model.read(self.support, support=True)
        rows = suggest_rows(
            model,
            pool,
            support,
            self.count,
            acquisition=self.acquisition,
            steps=self.steps,
        )
        task, places = model.encoding.task, [row.row for row in rows]
        named = task is not None and task in pool
        # As a person counts: the first row below the header is row 1.
        return pandas.DataFrame(
            {
                "row": [place + 1 for place in places],
                **({task: pool[task].iloc[places].to_numpy()} if named else {}),
                "score": [row.score for row in rows],
                "reason": [row.reason for row in rows],
            }
        )

    def _pictures(self):
        from bmaml.errors import BmamlError
        from bmaml.pictures import PictureModel, suggest_pictures, suggestions_frame

        if self.support is None:
            raise BmamlError("Pictures need examples of each class: give them with --support FOLDER.")
        model = PictureModel.load(self.folder)
        return suggestions_frame(
            suggest_pictures(
                model, self.support, self.pool, self.count, self.acquisition, steps=self.steps
            )
        )
