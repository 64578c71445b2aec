"""A trained image run, together with what a picture must be made into for it."""

import os
from dataclasses import dataclass, field, replace

from bmaml.errors import BmamlError, RunError
from bmaml.pictures.fewer_classes import with_classes
from bmaml.recipe import Recipe
from bmaml.run_folder import RunFolder, read_description
from bmaml.tasks.images import ImageEpisodes
from bmaml.tasks.images.image_file import ImageForm
from bmaml.tasks.images.looks import Ranges
from bmaml.trained import Compiled, Trained


@dataclass(frozen=True, eq=False)
class PictureModel:
    """What was trained on images of classes, ready for pictures of any size and colours.

    Arguments:
        trained: the run.
        form: the size and colours of the images it was trained on.
        ways: the number of classes it tells apart, N.
        ranges: what the images it was trained on look like, see `looks.py`; empty if nobody knows.
    """

    trained: Trained
    form: ImageForm
    ways: int
    ranges: Ranges = field(default_factory=dict)
    # What is compiled for fewer classes than N.
    _of_fewer: dict[int, Trained] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def load(cls, folder: str | os.PathLike[str]) -> "PictureModel":
        """The model in a run folder that `bmaml train` wrote; the images it saw need not be there."""
        recipe = Recipe.from_json(read_description(folder))
        if recipe.rows.inputs != "images":
            raise BmamlError(
                f"{folder} was trained on {recipe.tasks}, not on images: use a run of "
                "`bmaml train FOLDER`, where FOLDER has a folder for each class."
            )
        source = recipe.task_source()
        assert isinstance(source, ImageEpisodes)
        trained = Trained.load(folder, recipe.learner())
        if tuple(trained.example.x.shape[1:]) != source.form.shape:
            raise RunError(
                f"{folder} was trained on images of shape {tuple(trained.example.x.shape[1:])}, but "
                f"describes them as {source.form.shape}: restore its run.json from a backup."
            )
        return cls(trained, source.form, source.ways, _read_ranges(folder))

    @classmethod
    def of(cls, trained: Trained, source: ImageEpisodes) -> "PictureModel":
        """The model that `fit` made from a source of images."""
        return cls(trained, source.form, source.ways, source.ranges())

    def telling_apart(self, classes: int) -> Trained:
        """The run for tasks of 2 to N classes: of fewer than N, it has the first outputs alone."""
        if not 2 <= classes <= self.ways:
            raise ValueError(f"classes is {classes}; this run tells 2 to {self.ways} apart.")
        if classes == self.ways:
            return self.trained
        if classes not in self._of_fewer:
            learner = with_classes(self.trained.learner, classes)
            self._of_fewer[classes] = replace(self.trained, learner=learner, compiled=Compiled(learner))
        return self._of_fewer[classes]


def _read_ranges(folder: str | os.PathLike[str]) -> Ranges:
    """The ranges that a run keeps; one of before they were kept has none."""
    ranges = RunFolder.read(folder).settings.get("ranges", {})
    try:
        return {str(name): [float(low), float(high)] for name, (low, high) in ranges.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise RunError(
            f"The ranges in {folder}/run.json are damaged: restore it from a backup, or train again."
        ) from error
