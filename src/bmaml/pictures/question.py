"""A few labelled pictures and others to be told apart: read, adapted to and predicted bit by bit."""

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path

import jax.numpy as jnp
import numpy as np

from bmaml.errors import BmamlError, OutsideTrainingWarning
from bmaml.models.shared import SharedModel
from bmaml.pictures.model import PictureModel
from bmaml.pictures.reading import PathLike, Pixels, picture_files, read_batches, read_labelled
from bmaml.predictive import ClassificationPrediction
from bmaml.tasks.images.decode import show_progress
from bmaml.tasks.images.episode import scale
from bmaml.tasks.images.looks import looks, together, unlike
from bmaml.tasks.images.skipped import Skipped, shown, warn_of_skipped

# Pictures predicted at a time: enough to fill a processor, and memory stays small however many
# there are.
ROWS = 256


class Question:
    """Which of the classes in `support` are the pictures in `query`?

    `classes` are the names of the folders in `support`, `skipped` the files found unreadable so far.
    With `only_new`, labelled pictures that lie in `query`, too, are not asked about.
    """

    def __init__(
        self,
        model: PictureModel,
        support: PathLike | None,
        query: PathLike,
        *,
        only_new: bool = False,
    ):
        self.skipped: list[Skipped] = []
        # Only listed so far: a wrong path is told before anything is read.
        self._folder, self._files = picture_files(query)
        self._labelled, labelled_files = read_labelled(model, support, self.skipped)
        if only_new:
            known = {os.path.realpath(path) for path in self._labelled.files}
            self._files = [path for path in self._files if os.path.realpath(path) not in known]
            if not self._files:
                raise BmamlError(f"All pictures in {query} are labelled: give others to choose from.")
        self._model = model
        self._looks: list[Mapping[str, np.ndarray]] = []
        self._total = labelled_files + len(self._files)
        self.classes = self._labelled.classes

    def answers(
        self, steps: int | None = None, *, progress: bool = False
    ) -> Iterator[tuple[list[str], ClassificationPrediction]]:
        """Paths within `query` and what is predicted for them.

        In the end come warnings, of skipped files and of pictures unlike those of training.

        Arguments:
            steps: inner updates; None is the trained number.
            progress: show how far it is.
        """
        answered = 0
        silence = nullcontext(lambda count: None)
        with show_progress("Predicting", len(self._files), "") if progress else silence as advance:
            for files, prediction in self._predictions(steps):
                yield [path.relative_to(self._folder).as_posix() for path in files], prediction
                answered += len(files)
                advance(len(files))
        if not answered:
            example = self.skipped[-1]
            raise BmamlError(
                f"None of the {len(self._files)} files in {self._folder} is a picture that can be "
                f"read, such as {shown(example.file)} ({example.reason}): check the folder."
            )
        warn_of_skipped(self.skipped, self._total)
        self._warn_of_unlike("support", looks(self._labelled.pixels))
        self._warn_of_unlike("query", together(self._looks))

    def _warn_of_unlike(self, what: str, found: Mapping[str, np.ndarray]) -> None:
        if told := unlike(self._model.ranges, found):
            warnings.warn(
                f"The {what} is unlike what was trained on ({told}): predictions may be wrong without "
                "being uncertain.",
                OutsideTrainingWarning,
                stacklevel=3,
            )

    def _predictions(self, steps: int | None) -> Iterator[tuple[list[Path], ClassificationPrediction]]:
        trained = self._model.telling_apart(len(self.classes))
        model = trained.learner.posterior.model
        together = isinstance(model, SharedModel) and model.transductive
        support = _scaled(self._labelled.pixels)
        posterior = None
        for files, pixels in read_batches(self._files, self._model.form, ROWS, self.skipped):
            x = _scaled(pixels)
            self._looks.append(looks(pixels))
            if posterior is None or together:
                posterior = trained.adapt(
                    support, self._labelled.labels, steps, query_x=x if together else None
                )
            prediction = posterior.predict(x)
            if not np.all(np.isfinite(prediction.logits)):
                raise BmamlError(
                    "Adapting to the labelled pictures led to numbers that are not finite: use fewer "
                    "steps."
                )
            yield files, prediction


def _scaled(pixels: Pixels) -> np.ndarray:
    """As in training, and on the host, where `Trained` looks at what it is given."""
    return np.asarray(scale(jnp.asarray(pixels)))
