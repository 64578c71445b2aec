"""Intervals over tasks, and who is said to be best."""

import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from bmaml.report.evaluation import Evaluation
from bmaml.report.scores import METRICS, Estimate, Score, best, estimate, score_method
from bmaml.report.trust import Trust

MSE = METRICS["numbers"]["mse"]
CURVE = Trust(*(np.array([0.1, 0.5]) for _ in range(5)))


def episodes(values, **others):
    names = ("mse", "nll", "crps", "coverage")
    return {name: np.asarray(others.get(name, values), np.float32) for name in names}


def a_score(method, values, support_rows=5, **others):
    return score_method(
        method, support_rows, episodes(values, **others), np.arange(len(values)), "numbers"
    )


def evaluation(*scores):
    rows = {score.support_rows: CURVE for score in scores}
    about = {score.method: "a baseline" for score in scores[1:]}
    return Evaluation(scores[0].method, "numbers", "test", 9, scores, rows, about)


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=30))
def test_the_interval_is_students(values):
    mean, interval = estimate(np.array(values))
    low, high = mean - interval, mean + interval
    spread = np.std(values, ddof=1) / math.sqrt(len(values))
    if spread > 1e-6:
        expected = stats.t.interval(0.95, len(values) - 1, np.mean(values), spread)
        np.testing.assert_allclose((low, high), expected, rtol=1e-6, atol=1e-9)


def test_repeats_of_a_task_are_averaged_before_the_interval():
    once = score_method("a", 5, episodes([1.0, 2.0, 4.0]), np.array([7, 3, 5]), "numbers")
    values, tasks = [0.5, 1.5, 2.0, 2.0, 4.0, 3.0, 5.0], np.array([7, 7, 3, 3, 5, 5, 5])
    often = score_method("a", 5, episodes(values), tasks, "numbers")
    assert often.estimates["mse"].mean == pytest.approx(once.estimates["mse"].mean)
    assert often.estimates["mse"].interval == pytest.approx(once.estimates["mse"].interval)
    assert (often.tasks, often.episodes) == (3, 7)
    naive = estimate(np.array(values)).interval
    assert often.estimates["mse"].interval > 1.5 * naive  # what counting episodes would pretend


def test_one_task_has_no_interval_and_decides_nothing():
    scores = [a_score("a", [1.0]), a_score("b", [9.0])]
    assert math.isnan(scores[0].estimates["mse"].interval)
    found = best(scores, "mse", MSE)
    assert found.score.method == "a"
    assert found.level == ("b",)
    assert scores[0].to_json()["mse_interval"] is None


def test_methods_are_compared_task_by_task():
    hard = np.array([1.0, 10.0, 100.0, 1000.0])
    # The intervals overlap by far; on every task b is behind by a little.
    scores = [a_score("a", hard), a_score("b", hard + np.array([1.0, 1.1, 0.9, 1.0]))]
    assert best(scores, "mse", MSE).level == ()
    scores = [a_score("a", hard), a_score("b", hard + np.array([9.0, -8.0, 7.0, -6.0]))]
    assert best(scores, "mse", MSE).level == ("b",)


def test_more_is_better_of_accuracy_only():
    def of(values):
        values = np.array(values)
        return Score("x", 5, 3, {"accuracy": Estimate(values.mean(), 0.0)}, {"accuracy": values})

    low, high = of([0.1, 0.2, 0.3]), of([0.9, 0.8, 0.7])
    assert best([low, high], "accuracy", METRICS["labels"]["accuracy"]).score is high
    assert best([a_score("a", [1.0, 2.0]), a_score("b", [3.0, 4.5])], "mse", MSE).score.method == "a"


def test_what_is_not_finite_never_wins_and_is_null():
    scores = [a_score("a", [np.nan, 1.0]), a_score("b", [5.0, 6.0])]
    assert best(scores, "mse", MSE).score.method == "b"
    assert best(scores[:1], "mse", MSE) is None
    assert scores[0].to_json()["mse"] is None
    assert scores[0].estimates["mse"].told(MSE) == "not finite"


def test_sentences_name_the_winner_and_who_is_within_chance():
    hard = np.array([1.0, 10.0, 100.0, 1000.0])
    noise = np.array([9.0, -8.0, 7.0, -6.0])
    told = evaluation(
        a_score("bmaml", hard, nll=hard + 1.0),
        a_score("pooled", hard + 1.0 + np.arange(4) / 10, nll=hard),
        a_score("ridge", hard + 2 + noise, nll=hard + 50.0 + np.arange(4)),
        a_score("bmaml", hard, 0),
        a_score("pooled", hard + noise + 1, 0),
        a_score("ridge", hard + noise + 1, 0),
    ).sentences()
    assert told == [
        "At 0 support rows bmaml has the lowest squared error (278 ± 769; all others are within "
        "chance of it) and the lowest negative log-likelihood (278 ± 769; all others are within chance "
        "of it).",
        "At 5 support rows bmaml has the lowest squared error (278 ± 769; within chance of it: ridge); "
        "pooled has the lowest negative log-likelihood (278 ± 769).",
    ]


def test_without_baselines_nobody_wins():
    alone = evaluation(a_score("bmaml", [1.0, 2.0]))
    assert alone.sentences() == []
    assert alone.to_json()["best"] == []
    assert not any(any(bold) for *_, bold in alone.cells())


def test_the_json_of_an_evaluation_says_who_is_level():
    values = evaluation(a_score("bmaml", [1.0, 2.0]), a_score("pooled", [1.5, 1.6])).to_json()
    winners = {(found["metric"], found["method"]): found["level_with"] for found in values["best"]}
    assert winners[("mse", "bmaml")] == ["pooled"]
    assert "coverage" not in {found["metric"] for found in values["best"]}
    assert [score["method"] for score in values["scores"]] == ["bmaml", "pooled"]


@pytest.mark.parametrize(
    ("mean", "interval", "told"),
    [
        (0.12345, 0.02, "0.123 ± 0.020"),
        (1234.5, 67.0, "1,234 ± 67"),
        (0.5, math.nan, "0.50"),
        (3.0, 0.0, "3.0 ± 0.0"),
        (1e-9, 1e-10, "0.000000 ± 0.000000"),
    ],
)
def test_numbers_are_told_with_two_digits_of_their_interval(mean, interval, told):
    assert Estimate(mean, interval).told(MSE) == told


def test_the_terminal_shows_names_as_they_are():
    from rich.console import Console

    console = Console(width=200, record=True, file=io.StringIO())
    table = evaluation(a_score("bmaml", [1.0, 2.0]), a_score("pooled", [4.0, 5.0])).table(
        "[red]odd[/red]"
    )
    console.print(table)
    shown = console.export_text()
    assert "[red]odd[/red]" in shown
    assert "pooled" in shown
