"""Which pictures to label next, and why."""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from bmaml.active.acquisitions import Chooser, wanted
from bmaml.active.choice import draw_ties, ranking
from bmaml.errors import BmamlError
from bmaml.pictures.model import PictureModel
from bmaml.pictures.question import Question
from bmaml.pictures.reading import PathLike
from bmaml.predictive import ClassificationPrediction
from bmaml.tasks.images.image_file import quiet_pillow
from bmaml.tasks.images.skipped import shown

# A reason names as many classes as together are so probable, though not more than three.
COVERED, NAMED = 0.9, 3
BECAUSE = {"mutual_information": "the particles disagree: ", "random": "drawn at random: "}


class PictureSuggestion(NamedTuple):
    """A picture worth labelling: its path within the pool, how much it is wanted, and why."""

    file: str
    score: float
    reason: str


@quiet_pillow()
def suggest_pictures(
    model: PictureModel,
    support: PathLike | None,
    pool: PathLike,
    count: int = 1,
    acquisition: Chooser = None,
    *,
    steps: int | None = None,
    progress: bool = False,
    key: Key[Array, ""] | None = None,
) -> list[PictureSuggestion]:
    """The pictures of a pool that are worth labelling next, the most wanted first.

    Put them into the folders of their classes and ask again. Pictures that are labelled already are
    not suggested; files that cannot be read are left out, with a warning that names them.

    Arguments:
        model: see `PictureModel.load`.
        support: a folder with a folder of labelled pictures for each class.
        pool: a folder of pictures without labels.
        count: how many to suggest.
        acquisition: "entropy", "mutual_information", "margin", "random", or a function of a
            prediction; None is "entropy".
        steps: inner updates; None is the trained number.
        progress: show how far it is.
        key: decides between pictures that are wanted alike; None always decides the same.

    Reference: Algorithm 4, Kim et al. 2018.
    """
    if count < 1:
        raise ValueError(f"count is {count}; ask for at least one picture.")
    question = Question(model, support, pool, only_new=True)
    files: list[str] = []
    parts: list[tuple[np.ndarray, ...]] = []
    for names, prediction in question.answers(steps, progress=progress):
        files += names
        parts.append(jax.device_get(_judge(prediction, acquisition=acquisition)))
    if count > len(files):
        raise BmamlError(f"{count} pictures were asked of a pool of {len(files)}: ask for fewer.")
    scores, probabilities = map(np.concatenate, zip(*parts, strict=True))
    key = jax.random.key(0) if key is None else key
    order = np.asarray(ranking(jnp.asarray(scores), draw_ties(key, len(files))))[:count]
    because = BECAUSE.get(acquisition, "") if isinstance(acquisition, str) else ""
    return [
        PictureSuggestion(
            files[row], float(scores[row]), because + describe(question.classes, probabilities[row])
        )
        for row in order
    ]


def describe(classes: tuple[str, ...], probabilities: Float[np.ndarray, " classes"]) -> str:
    """What a picture may show, in a few words.

    >>> describe(("ash", "elm", "oak"), np.array([0.08, 0.44, 0.48]))
    "could be 'oak' (48 %) or 'elm' (44 %)"
    >>> describe(("ash", "elm", "oak"), np.array([0.004, 0.001, 0.995]))
    "probably 'oak' (over 99 %)"
    """
    order = np.argsort(-probabilities, kind="stable")
    enough = 1 + int(np.searchsorted(np.cumsum(probabilities[order]), COVERED))
    named = [
        f"{_quoted(classes[row])} ({_percent(float(probabilities[row]))})"
        for row in order[: min(enough, NAMED)]
    ]
    if len(named) == 1:
        return f"probably {named[0]}"
    return f"could be {', '.join(named[:-1])} or {named[-1]}"


def _quoted(name: str) -> str:
    return f"'{name}'" if name.isprintable() else shown(name)


def _percent(probability: float) -> str:
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


@partial(jax.jit, static_argnames="acquisition")
def _judge(
    prediction: ClassificationPrediction, *, acquisition: Chooser
) -> tuple[Float[Array, " rows"], Float[Array, "rows classes"]]:
    return wanted(acquisition, prediction), prediction.probabilities
