"""Calibration: honest and overconfident classifiers with known errors, pooled over tasks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.metrics import calibration, expected_calibration_error, reliability
from bmaml.predictive import ClassificationPrediction


def confident(confidence):
    """A prediction of class 0 of two with the given confidences."""
    confidence = jnp.asarray(confidence, jnp.float32)
    return ClassificationPrediction(jnp.log(jnp.stack([confidence, 1 - confidence], axis=-1))[None])


def honest(rows, seed=0):
    """Confidences and labels that are right as often as the confidences say."""
    confidence_key, label_key = jax.random.split(jax.random.key(seed))
    confidence = jax.random.uniform(confidence_key, (rows,), minval=0.51, maxval=0.99)
    wrong = jax.random.uniform(label_key, (rows,)) > confidence
    return confidence, wrong.astype(jnp.int32)


def looped_error(confidence, correct, bins):
    """The definition, bin by bin."""
    confidence, correct = np.asarray(confidence, np.float64), np.asarray(correct, np.float64)
    error = 0.0
    for low, high in zip(np.arange(bins) / bins, (np.arange(bins) + 1) / bins, strict=True):
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            error += inside.mean() * abs(correct[inside].mean() - confidence[inside].mean())
    return error


@pytest.mark.parametrize("bins", [1, 7, 15])
def test_the_error_is_its_definition(bins):
    logits = 2 * jax.random.normal(jax.random.key(0), (3, 200, 4))
    y = jax.random.randint(jax.random.key(1), (200,), 0, 4)
    prediction = ClassificationPrediction(logits)
    expected = looped_error(prediction.confidence, prediction.labels == y, bins)
    np.testing.assert_allclose(expected_calibration_error(prediction, y, bins), expected, rtol=1e-4)


def test_an_honest_classifier_has_a_small_error():
    confidence, y = honest(20_000)
    assert expected_calibration_error(confident(confidence), y) < 0.01


@pytest.mark.parametrize("gap", [0.1, 0.25])
def test_an_overconfident_classifier_has_its_gap_as_error(gap):
    confidence = jnp.full(1000, 0.9)
    y = (jnp.arange(1000) >= round(1000 * (0.9 - gap))).astype(jnp.int32)
    np.testing.assert_allclose(expected_calibration_error(confident(confidence), y), gap, atol=1e-3)


def test_pooling_tasks_is_putting_their_rows_together_and_not_the_mean_of_their_errors():
    confidence, y = honest(20_000)
    together = expected_calibration_error(confident(confidence), y)
    predictions = jax.vmap(confident)(confidence.reshape(2_000, 10))
    tasks = jax.vmap(calibration)(predictions, y.reshape(2_000, 10))
    np.testing.assert_allclose(tasks.summary(), together, atol=1e-5)
    apart = jnp.mean(jax.vmap(lambda task: task.summary())(tasks))
    assert apart > 10 * together  # ten honest rows look badly calibrated, every time


def test_every_row_is_in_one_bin_at_the_edges_too():
    confidence = jnp.array([0.5, 0.6, 0.8, 1.0])
    statistics = calibration(confident(confidence), jnp.zeros(4, jnp.int32), bins=4)
    np.testing.assert_array_equal(statistics.counts, [0, 1, 1, 2])
    np.testing.assert_allclose(statistics.confidences, [0, 0.5, 0.6, 1.8], rtol=1e-6)
    np.testing.assert_array_equal(statistics.corrects, statistics.counts)


def test_reliability_is_the_diagonal_for_an_honest_classifier():
    confidence, y = honest(20_000)
    curve = reliability(calibration(confident(confidence), y, bins=10))
    np.testing.assert_allclose(curve.centres, np.arange(10) / 10 + 0.05, rtol=1e-6)
    np.testing.assert_allclose(curve.accuracy[5:], curve.confidence[5:], atol=0.03)
    assert np.all(np.isnan(curve.accuracy[:5]))
    assert np.sum(curve.counts) == 20_000


def test_reliability_pools_tasks():
    confidence, y = honest(40)
    together = reliability(calibration(confident(confidence), y))
    tasks = jax.vmap(calibration)(jax.vmap(confident)(confidence.reshape(4, 10)), y.reshape(4, 10))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5), reliability(tasks), together)


def test_no_bins_are_refused():
    with pytest.raises(ValueError, match="at least one"):
        calibration(confident([0.7]), jnp.array([0]), bins=0)
