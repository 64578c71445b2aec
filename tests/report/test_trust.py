"""Calibration and refusal curves of predictions whose quality is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.metrics import coverage
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.report.trust import LEVELS, judge, trust
from bmaml.tasks import Data

EPISODES, ROWS = 40, 50


def judged_numbers(claimed, seed=0):
    """Rows whose noise differs, predicted with `claimed` times the true standard deviation."""
    random = np.random.default_rng(seed)
    std = np.exp(random.normal(size=(EPISODES, ROWS)))
    y = (std * random.normal(size=(EPISODES, ROWS))).astype(np.float32)
    noise = jnp.asarray(np.square(claimed * std), jnp.float32)[:, None, :, None]
    prediction = RegressionPrediction(jnp.zeros((EPISODES, 1, ROWS, 1)), noise)
    mask = jnp.asarray(np.arange(ROWS) < 40)[None].repeat(EPISODES, axis=0)
    query = Data(jnp.zeros((EPISODES, ROWS, 1)), jnp.asarray(y)[..., None], mask)
    return jax.vmap(judge)(prediction, query), prediction, query


def test_honest_intervals_lie_on_the_diagonal():
    curves = trust(judged_numbers(1.0)[0])
    np.testing.assert_allclose(curves.expected, LEVELS)
    np.testing.assert_allclose(curves.observed, LEVELS, atol=0.04)
    assert np.all(curves.rows == EPISODES * 40)  # masked rows do not count


@pytest.mark.parametrize(("claimed", "sign"), [(0.5, -1), (2.0, 1)])
def test_too_sure_is_below_and_too_cautious_above(claimed, sign):
    curves = trust(judged_numbers(claimed)[0])
    assert np.all(sign * (curves.observed - curves.expected)[2:9] > 0.03)


def test_the_curve_agrees_with_the_metric():
    judged, prediction, query = judged_numbers(1.5)
    of_tasks = jax.vmap(lambda one, data: coverage(one, data.y, 0.9, data.mask))(prediction, query)
    observed = trust(judged).observed[LEVELS.index(0.9)]
    assert observed == pytest.approx(float(np.mean(of_tasks)), abs=1e-5)


def test_refusing_the_uncertain_leaves_smaller_errors_in_the_units_of_the_data():
    judged, _, query = judged_numbers(1.0)
    curves, in_units = trust(judged), trust(judged, scale=10.0)
    errors = np.square(np.asarray(query.y))[..., 0][np.asarray(query.mask)]
    assert curves.left[0] == pytest.approx(errors.mean(), rel=1e-4)
    assert curves.left[10] < 0.3 * curves.left[0]
    np.testing.assert_allclose(in_units.left, 100 * curves.left)
    constant = trust(judged._replace(uncertainty=jnp.zeros_like(judged.uncertainty)))
    assert 0.5 < constant.left[10] / constant.left[0] < 2.0


def test_a_classifier_that_is_right_as_often_as_it_says():
    random = np.random.default_rng(0)
    sure = random.uniform(0.5, 1.0, size=(EPISODES, ROWS))
    y = (random.uniform(size=sure.shape) > sure).astype(np.int32)
    logits = jnp.asarray(np.log(np.stack([sure, 1 - sure], axis=-1)), jnp.float32)[:, None]
    query = Data(jnp.zeros((EPISODES, ROWS, 1)), jnp.asarray(y))
    curves = trust(jax.vmap(judge)(ClassificationPrediction(logits), query))
    np.testing.assert_allclose(curves.observed, curves.expected, atol=0.12)
    assert curves.rows.sum() == EPISODES * ROWS
    assert len(curves.expected) < 15  # empty bins are left out
    assert curves.left[-1] > curves.left[0] + 0.1
    wrong = jax.vmap(judge)(ClassificationPrediction(logits), query._replace(y=jnp.zeros_like(query.y)))
    assert np.all(trust(wrong).observed == 1.0)
