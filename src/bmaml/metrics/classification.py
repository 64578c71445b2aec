"""How good a classification is, a mean over the rows that count: accuracy, Brier score, calibration.

A label that is no class is never right, and makes the likelihood NaN.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from bmaml.metrics.confidence_bins import Calibration, calibration
from bmaml.metrics.likelihood import negative_log_likelihood
from bmaml.metrics.rows import Mask, mean_of_rows
from bmaml.predictive import ClassificationPrediction, Labels


def accuracy(prediction: ClassificationPrediction, y: Labels, mask: Mask = None) -> Float[Array, ""]:
    r"""How often the mean of the particles' probabilities is highest at the right class.

    .. math:: \mathbf 1\{y = \arg\max_c \bar p_c\}

    Arguments:
        prediction: of one task.
        y: labels of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over rows.

    >>> prediction = ClassificationPrediction(jnp.array([[[2.0, 0.0], [0.0, 1.0]]]))
    >>> accuracy(prediction, jnp.array([0, 0]))
    Array(0.5, dtype=float32)
    """
    right = prediction.labels == prediction.targets(y)
    return mean_of_rows(right.astype(prediction.logits.dtype), mask)


def particle_accuracy(
    prediction: ClassificationPrediction, y: Labels, mask: Mask = None
) -> Float[Array, ""]:
    r"""How often a particle by itself is right, on average.

    .. math:: \frac1M \sum_m \mathbf 1\{y = \arg\max_c f_m(x)_c\}

    Arguments:
        prediction: of one task.
        y: labels of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over particles and rows.

    >>> prediction = ClassificationPrediction(jnp.array([[[2.0, 0.0]], [[0.0, 1.0]]]))
    >>> particle_accuracy(prediction, 0)
    Array(0.5, dtype=float32)
    """
    right = prediction.particle_labels == prediction.targets(y)[None]
    return mean_of_rows(jnp.mean(right, axis=0, dtype=prediction.logits.dtype), mask)


def brier(prediction: ClassificationPrediction, y: Labels, mask: Mask = None) -> Float[Array, ""]:
    r"""The squared error of the probabilities, from 0 to 2; a proper score, and a bounded one.

    .. math:: \sum_c (\bar p_c - \mathbf 1\{y = c\})^2

    Arguments:
        prediction: of one task.
        y: labels of the rows' shape.
        mask: the rows that count.

    Returns:
        The mean over rows.

    >>> brier(ClassificationPrediction(jnp.zeros((1, 1, 2))), 0)
    Array(0.5, dtype=float32)
    """
    probabilities = prediction.probabilities
    truth = jax.nn.one_hot(prediction.targets(y), probabilities.shape[-1], dtype=probabilities.dtype)
    return mean_of_rows(jnp.sum(jnp.square(probabilities - truth), axis=-1), mask)


def expected_calibration_error(
    prediction: ClassificationPrediction, y: Labels, bins: int = 15, mask: Mask = None
) -> Float[Array, ""]:
    """How far confidence and accuracy are apart (see `Calibration.summary`).

    Of one prediction with many rows; several tasks are pooled by `summarise`.

    Arguments:
        prediction: of one task.
        y: labels of the rows' shape.
        bins: of equal width.
        mask: the rows that count.

    >>> prediction = ClassificationPrediction(jnp.array([[[1e4, 0.0], [1e4, 0.0]]]))
    >>> expected_calibration_error(prediction, jnp.array([0, 1]))
    Array(0.5, dtype=float32)
    """
    return calibration(prediction, y, bins, mask).summary()


def score_classification(
    prediction: ClassificationPrediction, y: Labels, mask: Mask = None
) -> dict[str, Float[Array, ""] | Calibration]:
    """Every metric of a classification by its short name.

    Arguments:
        prediction: of one task.
        y: labels of the rows' shape.
        mask: the rows that count.

    Returns:
        "accuracy", "particle_accuracy", "nll", "brier", and as "ece" what `summarise` pools.

    >>> sorted(score_classification(ClassificationPrediction(jnp.zeros((2, 1, 3))), 0))
    ['accuracy', 'brier', 'ece', 'nll', 'particle_accuracy']
    """
    return {
        "accuracy": accuracy(prediction, y, mask),
        "particle_accuracy": particle_accuracy(prediction, y, mask),
        "nll": negative_log_likelihood(prediction, y, mask),
        "brier": brier(prediction, y, mask),
        "ece": calibration(prediction, y, mask=mask),
    }
