"""What pictures show, from a few labelled ones."""

from typing import TYPE_CHECKING, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float

from bmaml.pictures.model import PictureModel
from bmaml.pictures.question import Question
from bmaml.pictures.reading import PathLike
from bmaml.predictive import ClassificationPrediction
from bmaml.tasks.images.image_file import quiet_pillow
from bmaml.tasks.images.skipped import Skipped, as_unicode

if TYPE_CHECKING:
    import pandas


class PicturePredictions(NamedTuple):
    """The probability of each class for each picture, and how uncertain they leave it, in nats.

    Arguments:
        files: paths within the folder that was asked about.
        classes: the names of the labelled folders.
        probabilities: of each class.
        entropy: all uncertainty, from 0 to log C.
        mutual_information: the part of it that the particles disagree about.
        skipped: files that could not be read, labelled or not, and why.
    """

    files: tuple[str, ...]
    classes: tuple[str, ...]
    probabilities: Float[np.ndarray, "rows classes"]
    entropy: Float[np.ndarray, " rows"]
    mutual_information: Float[np.ndarray, " rows"]
    skipped: tuple[Skipped, ...] = ()

    @property
    def labels(self) -> list[str]:
        """The most probable class of each picture."""
        return [self.classes[number] for number in np.argmax(self.probabilities, axis=1)]

    def frame(self) -> "pandas.DataFrame":
        """A table with the columns file, predicted, p(CLASS) for each class, and entropy."""
        import pandas

        names, numbers = [as_unicode(name) for name in self.classes], self.probabilities
        return pandas.DataFrame(
            {
                "file": [as_unicode(file) for file in self.files],
                "predicted": [as_unicode(label) for label in self.labels],
                **{f"p({name})": numbers[:, label] for label, name in enumerate(names)},
                "entropy": self.entropy,
            }
        )


@quiet_pillow()
def predict_folder(
    model: PictureModel,
    support: PathLike | None,
    query: PathLike,
    *,
    steps: int | None = None,
    progress: bool = False,
) -> PicturePredictions:
    """Adapt to labelled pictures and predict others, in memory that does not grow with them.

    Files that cannot be read are left out, with a warning that names them. With a model that
    normalises support and query together, a prediction depends on the pictures predicted with it,
    256 at a time.

    Arguments:
        model: see `PictureModel.load`.
        support: a folder with a folder of labelled pictures for each class, any number in each.
        query: a folder of pictures, in folders of its own or not, or one picture.
        steps: inner updates; None is the trained number.
        progress: show how far it is.
    """
    question = Question(model, support, query)
    files: list[str] = []
    parts: list[tuple[np.ndarray, ...]] = []
    for names, prediction in question.answers(steps, progress=progress):
        files += names
        parts.append(jax.device_get(_keep(prediction)))
    probabilities, entropy, mutual_information = map(np.concatenate, zip(*parts, strict=True))
    return PicturePredictions(
        files=tuple(files),
        classes=question.classes,
        probabilities=probabilities,
        entropy=entropy,
        mutual_information=mutual_information,
        skipped=tuple(question.skipped),
    )


@jax.jit
def _keep(
    prediction: ClassificationPrediction,
) -> tuple[Float[Array, "rows classes"], Float[Array, " rows"], Float[Array, " rows"]]:
    return prediction.probabilities, prediction.entropy, prediction.mutual_information
