"""Scores by kind of prediction, and their summary over tasks."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.metrics import KINDS, accuracy, calibration, score, summarise
from bmaml.predictive import ClassificationPrediction, RegressionPrediction

SUMMARIES = {
    RegressionPrediction: {
        *("mse", "mse_interval", "particle_mse", "nll", "coverage", "coverage_interval", "crps"),
    },
    ClassificationPrediction: {
        "accuracy",
        "accuracy_interval",
        "particle_accuracy",
        "nll",
        "brier",
        "ece",
    },
}


def example(kind, tasks=6, rows=4):
    """Stacked predictions and targets of some tasks."""
    first, second = jax.random.split(jax.random.key(0))
    if kind is RegressionPrediction:
        means = jax.random.normal(first, (tasks, 3, rows))
        return RegressionPrediction(means, jnp.ones((tasks, 3))), jax.random.normal(
            second, (tasks, rows)
        )
    logits = jax.random.normal(first, (tasks, 3, rows, 5))
    return ClassificationPrediction(logits), jax.random.randint(second, (tasks, rows), 0, 5)


def test_every_kind_has_an_example():
    assert set(KINDS) == set(SUMMARIES)


@pytest.mark.parametrize("kind", list(KINDS))
def test_a_summary_is_scalars_with_an_interval_of_the_main_metric(kind):
    summary = jax.jit(lambda tasks: summarise(jax.vmap(score)(*tasks)))(example(kind))
    assert set(summary) == SUMMARIES[kind]
    assert all(value.shape == () and np.isfinite(value) for value in summary.values())


def test_tasks_in_blocks_are_tasks_at_once():
    tasks = example(ClassificationPrediction)
    blocks = jax.lax.map(lambda task: score(*task), tasks, batch_size=4)
    for name, value in summarise(jax.vmap(score)(*tasks)).items():
        np.testing.assert_allclose(summarise(blocks)[name], value, rtol=1e-5)


@pytest.mark.parametrize("kind", list(KINDS))
def test_metrics_are_means_over_tasks_and_their_interval_is_numpys(kind):
    scores = jax.vmap(score)(*example(kind))
    summary = summarise(scores)
    for name in set(scores) - {"ece"}:
        np.testing.assert_allclose(summary[name], np.mean(scores[name]), rtol=1e-6)
    for name in KINDS[kind].with_interval:
        expected = 1.96 * np.std(scores[name], ddof=1) / np.sqrt(6)
        np.testing.assert_allclose(summary[f"{name}_interval"], expected, rtol=1e-5)


def test_the_calibration_error_is_that_of_all_rows():
    predictions, y = example(ClassificationPrediction)
    pooled = jax.vmap(calibration)(predictions, y).summary()
    np.testing.assert_array_equal(summarise(jax.vmap(score)(predictions, y))["ece"], pooled)


def test_the_interval_covers_the_true_mean_in_most_repetitions():
    draws = jax.random.uniform(jax.random.key(0), (400, 50))
    summary = jax.vmap(lambda values: summarise({"accuracy": values}))(draws)
    covered = jnp.abs(summary["accuracy"] - 0.5) < summary["accuracy_interval"]
    assert 0.9 < np.mean(covered) < 0.98


def test_one_task_has_no_interval():
    summary = summarise({"accuracy": jnp.array([0.5]), "nll": jnp.array([1.0])})
    assert np.isnan(summary["accuracy_interval"])
    assert summary["accuracy"] == 0.5


def test_score_holds_the_metrics_of_one_task():
    prediction, y = jax.tree.map(lambda leaf: leaf[0], example(ClassificationPrediction))
    np.testing.assert_array_equal(score(prediction, y)["accuracy"], accuracy(prediction, y))


def test_an_unknown_kind_of_prediction_is_refused():
    with pytest.raises(TypeError, match="No metrics are known for a tuple"):
        score((), jnp.zeros(1))


@pytest.mark.parametrize("kind", list(KINDS))
def test_rows_that_do_not_count_change_no_metric(kind):
    prediction, y = jax.tree.map(lambda leaf: leaf[0], example(kind))
    mask = jnp.array([True, False, True, False])
    samples = next(iter(jax.tree.leaves(prediction)))  # (particles, rows, ...)
    counted = jax.tree.map(lambda leaf: leaf[:, mask] if leaf is samples else leaf, prediction)
    expected = jax.vmap(score)(*jax.tree.map(lambda leaf: leaf[None], (counted, y[mask])))
    found = score(prediction, y, mask)
    for name, value in summarise(expected).items():
        if not name.endswith("_interval"):
            alone = summarise(jax.tree.map(lambda leaf: leaf[None], found))[name]
            np.testing.assert_allclose(alone, value, rtol=1e-5, err_msg=name)
