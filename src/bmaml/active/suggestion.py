"""Which rows to label next, for someone who has the rows and no labels yet."""

from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Int, Key

from bmaml.active.acquisitions import Chooser, wanted
from bmaml.active.choice import draw_ties, ranking
from bmaml.active.rounds import check_count
from bmaml.trained import AdaptedPosterior


class Suggestion(NamedTuple):
    """Row numbers of a pool, the most wanted first, and their scores."""

    indices: Int[np.ndarray, " count"]
    scores: Float[np.ndarray, " count"]


def suggest(
    posterior: AdaptedPosterior,
    pool_x: Any,
    count: int = 1,
    acquisition: Chooser = None,
    *,
    key: Key[Array, ""] | None = None,
) -> Suggestion:
    """The rows of a pool that are worth labelling next, given what is known so far.

    Label them, add them to your rows, adapt again and ask again. Several at a time are the ones with
    the highest scores; rows that resemble each other have similar scores, so that one by one, with
    adaptation in between, labels tell more.

    Arguments:
        posterior: of `Trained.adapt`.
        pool_x: inputs, `(rows, features...)`; arrays or lists.
        count: how many rows to suggest.
        acquisition: "entropy", "mutual_information" or "margin" for classes, "variance" for numbers,
            "random", or a function of a prediction; None is "entropy" or "variance".
        key: decides between rows that are wanted alike; None always decides the same.

    Returns:
        The suggested rows.

    Reference: Algorithm 4, Kim et al. 2018.
    """
    key = jax.random.key(0) if key is None else key
    order, scores = _order(posterior.predict(pool_x), key, acquisition=acquisition)
    check_count(count, order.shape[0])
    indices = np.asarray(order)[:count]
    return Suggestion(indices, np.asarray(scores)[indices])


@partial(jax.jit, static_argnames="acquisition")
def _order(
    prediction: Any, key: Key[Array, ""], *, acquisition: Chooser
) -> tuple[Int[Array, " rows"], Float[Array, " rows"]]:
    scores = wanted(acquisition, prediction)
    return ranking(scores, draw_ties(key, scores.shape[0])), scores
