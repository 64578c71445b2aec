"""What becomes of X, y and groups."""

import numpy as np
import pandas
import pytest

from bmaml.estimators import FewShotClassifier, FewShotRegressor
from bmaml.estimators.table import few_of_each, pseudo_tasks
from tests.estimators.data import CLASSES, TINY, both, table


@both
def test_columns_are_found_by_name(trained, kind):
    X, y, _ = table(kind)
    model = trained[kind].adapt(X[:5], y[:5])
    expected = model.predict(X)
    moved = X[["colour", "x"]].assign(another=1.0).set_index(X.index[::-1])
    np.testing.assert_array_equal(model.predict(moved), expected)
    with pytest.raises(ValueError, match=r"lacks columns .* fitted with: colour"):
        model.predict(X[["x"]])
    with pytest.raises(ValueError, match="several columns named x"):
        model.predict(pandas.concat([X, X[["x"]]], axis=1))


def test_names_are_told_apart_from_places(untrained):
    X, y, _ = table("numbers")
    X = X.assign(colour=(X["colour"] == "red").astype(float))
    named, placed = (FewShotRegressor(**TINY).fit(data, y) for data in (X, X.to_numpy()))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(named.predict(X.to_numpy()), named.predict(X))
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        np.testing.assert_array_equal(placed.predict(X), placed.predict(X.to_numpy()))


@both
def test_names_of_series_are_the_names_in_the_run(kind, untrained):
    X, y, groups = table(kind)
    named = CLASSES[kind](**TINY).fit(X, y, groups=groups).model_.encoding
    assert (named.task, named.target) == ("line", "height")
    taken = X.assign(task=1.0, line=X["x"])
    unnamed = CLASSES[kind](**TINY).fit(taken, y.to_numpy(), groups=groups).model_.encoding
    assert (unnamed.task, unnamed.target) == ("task_", "target")


@both
def test_what_is_left_out_is_noted(kind, untrained):
    X, y, groups = table(kind)
    X = X.assign(station="north")
    for options in ({}, {"groups": groups}):
        notes = CLASSES[kind](**TINY).fit(X, y, **options).notes_
        assert any("'station' is left out" in note for note in notes)
        assert any("'x' is empty" in note for note in notes)


def test_every_class_is_known_even_if_validation_tasks_alone_have_it(untrained):
    X, _, groups = table("labels")
    y = groups.str.replace("line ", "").astype(int).to_numpy() % 4  # Five tasks for each class.
    y = np.where(groups == "line 3", 9, y + np.arange(len(y)) % 2)
    for seed in range(8):
        model = FewShotClassifier(**{**TINY, "random_state": seed}).fit(X, y, groups=groups)
        assert (
            model.model_.encoding.targets.classes
            == tuple(model.classes_.tolist())
            == (0, 1, 2, 3, 4, 9)
        )
        assert model.predict_proba(X).shape == (len(X), 6)


@both
def test_without_groups_all_rows_are_one_task(kind, untrained):
    X, y, _ = table(kind, tasks=5)
    model = CLASSES[kind](**TINY).fit(X, y)
    assert len(untrained[0]) == 2
    fitted = model.predict(X)
    np.testing.assert_array_equal(model.adapt(X, y).predict(X), fitted)


def test_pseudo_tasks_are_of_like_size():
    for rows in (6, 7, 59, 60, 61, 500):
        counts = np.bincount(pseudo_tasks(rows, np.random.RandomState(0)))
        assert len(counts) >= 3
        assert counts.min() >= 2
        assert counts.max() - counts.min() <= 1


def test_a_few_of_each_task_are_at_most_half_of_it():
    tasks = np.random.default_rng(0).integers(0, 9, 100)
    chosen = few_of_each(tasks, 5)
    for task in range(9):
        count = np.count_nonzero(tasks == task)
        assert np.count_nonzero(chosen & (tasks == task)) == min(5, count // 2)
