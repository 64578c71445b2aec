"""`bmaml predict`: predictions for rows of a table or for pictures, from a few known ones."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from bmaml.cli.maybe import Maybe


@dataclass(frozen=True)
class Predict:
    """Predict from a few known rows or pictures of a new task.

    For a run on a table: the mean, standard deviation and 5, 50 and 95 % quantiles of a number, or the
    probabilities of classes and their entropy, for each row of --query in its order. Rows of several
    tasks are told apart by the task column. For a run on pictures: probabilities for every picture.
    """

    folder: tyro.conf.Positional[Annotated[Path, tyro.conf.arg(metavar="RUN")]]
    """a run folder written by `bmaml train`"""
    query: Path
    """what to predict: a CSV or Parquet file, or a folder of pictures"""
    support: Maybe[Path] = None
    """what is known of the new task: a file with the target in it, or a folder with a folder of
    pictures for each class (default: nothing is known, for tables)"""
    out: Maybe[Path] = None
    """the file to write, .csv, .csv.gz or .parquet (default: print CSV)"""
    steps: Maybe[int] = None
    """adaptation steps (default: as trained)"""

    def run(self) -> None:
        """Load, adapt, predict, write."""
        from bmaml.cli.output import check_out, speaking_warnings, write_frame
        from bmaml.errors import BmamlError
        from bmaml.recipe import Recipe
        from bmaml.run_folder import read_description

        if self.steps is not None and self.steps < 0:
            raise BmamlError("--steps must not be negative.")
        check_out(self.out, [self.query, self.support])
        recipe = Recipe.from_json(read_description(self.folder))
        with speaking_warnings():
            frame = self._pictures() if recipe.rows.inputs == "images" else self._table()
        write_frame(frame, self.out)

    def _table(self):
        import pandas

        from bmaml.tables.model import TableModel

        model = TableModel.load(self.folder)
        query = model.read(self.query)
        support = None if self.support is None else model.read(self.support, support=True)
        predictions = model.predict(query, support, steps=self.steps)
        task = model.encoding.task
        names = {task: query[task].to_numpy()} if task is not None and task in query else {}
        return pandas.DataFrame({**names, **predictions.columns()})

    def _pictures(self):
        from bmaml.errors import BmamlError
        from bmaml.pictures import PictureModel, predict_folder

        if self.support is None:
            raise BmamlError("Pictures need examples of each class: give them with --support FOLDER.")
        model = PictureModel.load(self.folder)
        return predict_folder(model, self.support, self.query, steps=self.steps, progress=True).frame()
