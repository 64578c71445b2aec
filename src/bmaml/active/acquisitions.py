"""How much a label is wanted at each row of a pool, judged by what is predicted there.

An acquisition is one function of a prediction and one line in `ACQUISITIONS`. Rows that are wanted
alike are chosen among at random (see `choice`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from bmaml.predictive import ClassificationPrediction, RegressionPrediction

# The name of an acquisition, a function of your own, or None for the one that suits the prediction.
Chooser = str | Callable[[Any], Array] | None


class Acquisition(NamedTuple):
    """A score for each row, higher where a label is more wanted, and the predictions it is for."""

    score: Callable[[Any], Array]
    kind: type


def entropy(prediction: ClassificationPrediction) -> Float[Array, " rows"]:
    r"""H[y | x, D], the paper's choice: all uncertainty, Algorithm 4 of Kim et al. 2018.

    .. math:: x^* = \arg\max_x -\sum_c \bar p_c(x) \log \bar p_c(x)

    >>> entropy(ClassificationPrediction(jnp.zeros((1, 1, 2))))
    Array([0.6931472], dtype=float32)
    """
    return prediction.entropy


def mutual_information(prediction: ClassificationPrediction) -> Float[Array, " rows"]:
    """I[y; θ | x, D], what the particles disagree on (BALD); none for one particle, which is random.

    >>> mutual_information(ClassificationPrediction(jnp.zeros((2, 1, 3))))
    Array([0.], dtype=float32)
    """
    return prediction.mutual_information


def margin(prediction: ClassificationPrediction) -> Float[Array, " rows"]:
    """How close the second class is to the first: minus the difference of their probabilities.

    >>> margin(ClassificationPrediction(jnp.array([[[0.0, 0.0], [1e4, 0.0]]])))
    Array([-0., -1.], dtype=float32)
    """
    return -prediction.margin


def variance(prediction: RegressionPrediction) -> Float[Array, "rows ..."]:
    """Var_m[f_m(x)], the part of the predictive variance that labels can reduce.

    The noise is left out. If it is the same at every row, as with all likelihoods here, even though
    particles differ in it, it adds the same to all rows and cannot change a choice. If it differs
    between rows, adding it would ask for labels where they tell least. One particle has no such
    variance, and its choice is random.

    >>> variance(RegressionPrediction(jnp.array([[[0.0], [1.0]], [[2.0], [1.0]]]), jnp.ones(2)))
    Array([[1.],
           [0.]], dtype=float32)
    """
    return jnp.var(prediction.samples, axis=0)


def random(prediction: Any) -> Float[Array, " rows"]:
    """Every row is wanted alike: the baseline.

    >>> random(ClassificationPrediction(jnp.zeros((2, 3, 5))))
    Array([0., 0., 0.], dtype=float32)
    """
    return jnp.zeros(prediction.samples.shape[1])


# The first that is for a kind of prediction is its default.
ACQUISITIONS: dict[str, Acquisition] = {
    "entropy": Acquisition(entropy, ClassificationPrediction),
    "mutual_information": Acquisition(mutual_information, ClassificationPrediction),
    "margin": Acquisition(margin, ClassificationPrediction),
    "variance": Acquisition(variance, RegressionPrediction),
    "random": Acquisition(random, object),
}


def wanted(acquisition: Chooser, prediction: Any) -> Float[Array, " rows"]:
    """How much a label is wanted at each row; where rows have several outputs, their sum.

    Arguments:
        acquisition: a name from `ACQUISITIONS`, or a function of the prediction; None is "entropy" for
            classes and "variance" for numbers.
        prediction: of one task, at the rows of a pool.

    >>> wanted("variance", RegressionPrediction(jnp.array([[[0.0, 1.0]], [[2.0, 5.0]]]), jnp.ones(2)))
    Array([5.], dtype=float32)
    """
    score = acquisition if callable(acquisition) else _find(acquisition, prediction)
    values, rows = score(prediction), prediction.samples.shape[1]
    if values.ndim == 0 or values.shape[0] != rows:
        raise ValueError(
            f"The acquisition gives scores of shape {values.shape} for {rows} rows: give one for each."
        )
    return jnp.sum(values.reshape(rows, -1), axis=1)


def _find(name: str | None, prediction: Any) -> Callable[[Any], Array]:
    if name is not None and name not in ACQUISITIONS:
        raise ValueError(
            f"There is no acquisition {name!r}: use one of {', '.join(ACQUISITIONS)}, or a function of "
            "a prediction."
        )
    fitting = [known for known, each in ACQUISITIONS.items() if isinstance(prediction, each.kind)]
    if name is not None and name not in fitting:
        raise ValueError(
            f"The acquisition {name!r} is not for a {type(prediction).__name__}: use one of "
            f"{', '.join(fitting)}."
        )
    return ACQUISITIONS[name or fitting[0]].score
