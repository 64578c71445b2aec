"""Metrics of classification: against their definitions and NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.metrics import (
    accuracy,
    brier,
    expected_calibration_error,
    negative_log_likelihood,
    particle_accuracy,
)
from bmaml.predictive import ClassificationPrediction

METRICS = [accuracy, particle_accuracy, negative_log_likelihood, brier, expected_calibration_error]


def make(seed=0, count=3, rows=8, classes=4):
    logit_key, label_key = jax.random.split(jax.random.key(seed))
    logits = 2 * jax.random.normal(logit_key, (count, rows, classes))
    return ClassificationPrediction(logits), jax.random.randint(label_key, (rows,), 0, classes)


@given(st.integers(0, 2**16), st.sampled_from([1, 3]))
@settings(max_examples=15, deadline=None)
def test_metrics_are_numpys(seed, count):
    prediction, y = make(seed, count)
    p, samples, y = np.asarray(prediction.probabilities), np.asarray(prediction.samples), np.asarray(y)
    truth = np.eye(4)[y]
    np.testing.assert_allclose(accuracy(prediction, y), np.mean(p.argmax(-1) == y), rtol=1e-6)
    np.testing.assert_allclose(
        particle_accuracy(prediction, y), np.mean(samples.argmax(-1) == y), rtol=1e-6
    )
    np.testing.assert_allclose(brier(prediction, y), np.mean(((p - truth) ** 2).sum(-1)), rtol=1e-5)
    expected = -np.mean(np.log((p * truth).sum(-1)))
    np.testing.assert_allclose(negative_log_likelihood(prediction, y), expected, rtol=1e-4)


def test_one_particle_is_the_ensemble():
    prediction, y = make(count=1)
    np.testing.assert_array_equal(particle_accuracy(prediction, y), accuracy(prediction, y))


def test_a_perfect_and_a_perfectly_wrong_classifier():
    y = jnp.array([0, 1, 2, 3])
    right = ClassificationPrediction(1e4 * jax.nn.one_hot(y, 4)[None])
    assert [float(metric(right, y)) for metric in METRICS] == [1, 1, 0, 0, 0]
    assert [float(metric(right, (y + 1) % 4)) for metric in METRICS] == [0, 0, 1e4, 2, 1]


@pytest.mark.parametrize("metric", [negative_log_likelihood, brier])
def test_the_truth_has_the_best_proper_score(metric):
    # Labels drawn from the probabilities themselves, against bolder and more timid ones.
    logits = 2 * jax.random.normal(jax.random.key(0), (4_000, 3))
    y = jax.random.categorical(jax.random.key(1), logits)
    best = metric(ClassificationPrediction(logits[None]), y)
    for factor in (0.5, 2.0):
        assert best < metric(ClassificationPrediction(factor * logits[None]), y)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_are_finite_scalars_at_extreme_logits(metric):
    prediction = ClassificationPrediction(1e4 * make()[0].logits)
    value = metric(prediction, make()[1])
    assert value.shape == ()
    assert np.isfinite(value)


@pytest.mark.parametrize("metric", METRICS)
def test_labels_of_another_shape_are_refused(metric):
    prediction, y = make()
    with pytest.raises(ValueError, match=r"y has shape \(8, 1\)"):
        metric(prediction, y[:, None])
