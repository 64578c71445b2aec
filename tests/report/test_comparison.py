"""Several learners on the same tasks: paired differences, and what is not comparable."""

import numpy as np
import pytest
from scipy import stats

import bmaml
from bmaml.report.comparison import fingerprint, together
from bmaml.report.held_out import evaluate_held_out
from bmaml.tasks import Sinusoid
from bmaml.tasks.task_set import TaskSet
from tests.active.settings import CLASSES, NUMBERS
from tests.active.test_curves import trained

SETTINGS = pytest.mark.parametrize("setting", [NUMBERS, CLASSES], ids=["numbers", "classes"])


@SETTINGS
def test_a_difference_is_taken_task_by_task(setting):
    one, other = trained(setting, seeds=(0, 1))
    compared = bmaml.compare({"one": one, "other": other}, setting.tasks)
    metric = "mse" if setting is NUMBERS else "accuracy"
    each = [
        [learner.evaluate(TaskSet(setting.tasks)[index : index + 1])[metric] for index in range(4)]
        for learner in (one, other)
    ]
    gaps = np.subtract(each[1], each[0])
    assert np.any(gaps != 0)
    mean, half = compared.difference("other", metric)
    low, high = stats.t.interval(0.95, 3, gaps.mean(), gaps.std(ddof=1) / 2)
    np.testing.assert_allclose((mean - half, mean + half), (low, high), rtol=1e-4, atol=1e-6)
    told = compared.to_json()
    assert told["first"] == "one"
    (difference,) = told["differences"]
    assert difference["method"] == "other"
    assert difference[metric] == pytest.approx(mean)
    assert [score["method"] for score in told["scores"]] == ["one", "other"]


@SETTINGS
def test_the_same_twice_differs_by_nothing(setting):
    (one,) = trained(setting)
    compared = bmaml.compare({"one": one, "again": one}, setting.tasks)
    for name in compared.evaluation.scores[0].of_tasks:
        assert tuple(compared.difference("again", name)) == (0.0, 0.0)


def test_what_was_not_compared_is_named():
    one, other = trained(CLASSES, seeds=(0, 1))
    compared = bmaml.compare({"one": one, "other": other}, CLASSES.tasks)
    with pytest.raises(ValueError, match="'third' was not compared: use one of one, other"):
        compared.difference("third", "nll")
    with pytest.raises(ValueError, match="'ece' is not told task by task: use one of accuracy"):
        compared.difference("other", "ece")


def test_what_cannot_be_compared_is_refused():
    (one,) = trained(CLASSES)
    (other,) = trained(NUMBERS)
    with pytest.raises(ValueError, match="nothing to compare with"):
        bmaml.compare({"one": one}, CLASSES.tasks)
    scored = evaluate_held_out(one, CLASSES.tasks, method="a")[0]
    numbers = evaluate_held_out(other, NUMBERS.tasks, method="b")[0]
    with pytest.raises(ValueError, match="one predicts labels and other predicts numbers"):
        together({"one": scored, "other": numbers})
    fewer = evaluate_held_out(one, TaskSet(CLASSES.tasks)[:3], method="c")[0]
    with pytest.raises(ValueError, match="not scored on the same tasks"):
        together({"one": scored, "other": fewer})


def test_fingerprints_are_those_of_the_rows():
    source = Sinusoid(num_tasks=3, shots=2)
    tasks = source.held_out("test")
    np.testing.assert_array_equal(fingerprint(tasks), fingerprint(source.held_out("test")))
    assert not np.array_equal(fingerprint(tasks), fingerprint(source.held_out("validation")))
    swapped = tasks._replace(query=tasks.query._replace(x=tasks.query.x[:, ::-1]))
    changed = np.any(fingerprint(swapped) != fingerprint(tasks), axis=1)
    assert changed.all()
