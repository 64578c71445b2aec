"""From a table to predictions in its units, for one task or many, and back from disk."""

import itertools
import warnings

import numpy as np
import pandas
import pytest

from bmaml.errors import BmamlError, OutsideTrainingWarning, RunError
from bmaml.tables import prepare
from bmaml.tables.model import TableModel
from bmaml.tables.suggest import suggest_rows
from tests.tables.frames import sentence

OPTIONS = {"hidden": (8,), "method_options": {"num_particles": 3}, "steps": 30, "progress": False}


def made_up(tasks=20, rows=8, seed=0, scale=1.0, shift=0.0):
    """Lines with a slope of their own, and a category that lifts them."""
    random = np.random.default_rng(seed)
    task = np.repeat(np.arange(tasks), rows)
    x, lift = random.uniform(-2, 2, task.size), random.choice(["low", "high"], task.size)
    y = random.normal(size=tasks)[task] * x + (lift == "high")
    return pandas.DataFrame(
        {"who": [f"t{i}" for i in task], "x": x, "lift": lift, "y": shift + scale * y}
    )


def fitted(frame, **options):
    prepared = prepare(frame, task="who", target="y")
    return TableModel.fit(prepared, **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("run") / "numbers"


@pytest.fixture(scope="module")
def model(folder):
    return fitted(made_up(), out=folder)


@pytest.fixture(scope="module")
def classifier():
    frame = made_up()
    return fitted(frame.assign(y=np.where(frame.y > 0.5, "yes", "no")))


def test_rows_of_many_tasks_are_predicted_in_their_order_as_each_task_alone(model):
    frame = made_up(seed=1)
    support, query = frame[::2], frame[1::2].sample(frac=1, random_state=0)
    together = model.predict(query, support)
    for who in ("t0", "t7"):
        mine = np.flatnonzero(query.who == who)
        alone = model.predict(query.iloc[mine], support[support.who == who])
        np.testing.assert_allclose(together.mean[mine], alone.mean, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(together.std[mine], alone.std, rtol=1e-3)


def test_predictions_scale_with_the_target(model):
    other = fitted(made_up(scale=1000.0, shift=5.0))
    support, query = made_up(1, seed=2), made_up(1, seed=3)
    ours = model.predict(query, support)
    theirs = other.predict(query, support.assign(y=5.0 + 1000.0 * support.y))
    np.testing.assert_allclose(theirs.mean, 5.0 + 1000.0 * ours.mean, rtol=2e-2, atol=5.0)
    np.testing.assert_allclose(theirs.std, 1000.0 * ours.std, rtol=2e-2)


def test_quantiles_are_in_order_and_the_parts_of_the_variance_add_up(model):
    prediction = model.predict(made_up(2, seed=2))
    low, middle, high = (prediction.quantiles[level] for level in (0.05, 0.5, 0.95))
    assert np.all(low < middle)
    assert np.all(middle < high)
    parts = np.hypot(prediction.epistemic_std, prediction.noise_std)
    np.testing.assert_allclose(parts, prediction.std, rtol=1e-4)
    assert list(prediction.columns()) == ["mean", "std", "q05", "q50", "q95", "support_rows"]


def test_no_support_is_the_prior_prediction_and_support_changes_it(model):
    query = made_up(1, seed=2)
    prior = model.predict(query)
    np.testing.assert_array_equal(prior.mean, model.predict(query, query[:0]).mean)
    assert np.abs(model.predict(query, query).mean - prior.mean).max() > 1e-3


def test_a_task_without_support_rows_gets_the_prior_prediction(model):
    frame = made_up(2, seed=2)
    with pytest.warns(UserWarning, match=r"1 of 2 tasks of the query \('t1'\) has no support rows"):
        both = model.predict(frame, frame[frame.who == "t0"])
    assert both.support_rows.tolist() == [8] * 8 + [0] * 8
    prior = model.predict(frame)
    new = (frame.who == "t1").to_numpy()
    np.testing.assert_allclose(both.mean[new], prior.mean[new], rtol=1e-4, atol=1e-5)
    assert np.abs(both.mean[~new] - prior.mean[~new]).max() > 1e-3


def test_what_is_loaded_predicts_the_same(model, folder):
    query, support = made_up(1, seed=2), made_up(1, seed=3)
    loaded = TableModel.load(folder)
    assert loaded.encoding == model.encoding
    np.testing.assert_array_equal(
        loaded.predict(query, support).mean, model.predict(query, support).mean
    )


def test_probabilities_are_probabilities_and_name_their_classes(classifier):
    frame = made_up(2, seed=2)
    known = frame.assign(y=np.where(frame.y > 0.5, "yes", "no"))
    prediction = classifier.predict(frame, known)
    assert prediction.classes == ("no", "yes")
    np.testing.assert_allclose(prediction.probabilities.sum(axis=1), 1.0, rtol=1e-5)
    assert set(prediction.labels) <= {"no", "yes"}
    assert list(prediction.columns()) == ["predicted", "p(no)", "p(yes)", "entropy", "support_rows"]


def test_who_belongs_to_whom_must_be_said(model):
    frame = made_up(2, seed=2)
    with pytest.raises(BmamlError, match="add the column 'who' to both"):
        model.predict(frame.drop(columns="who"), frame)
    one = frame[frame.who == "t0"]
    named = model.predict(one, one)
    unnamed = model.predict(one.drop(columns="who"), one.drop(columns="who"))
    np.testing.assert_allclose(named.mean, unnamed.mean, rtol=1e-5)


def test_a_support_of_other_tasks_is_refused(model):
    frame = made_up(2, seed=2)
    for call in (model.predict, lambda *frames: suggest_rows(model, *frames, 1)):
        with pytest.raises(BmamlError, match="No row of the support is of a task of the"):
            call(frame, frame.assign(who="t" + frame.who))


def test_what_is_wrong_is_said_of_the_support_or_of_the_query(model):
    frame = made_up(1, seed=2)
    for query, support, told in (
        (frame.drop(columns="x"), frame, "The query has no column 'x': it has"),
        (frame, frame.drop(columns="x"), "The support has no column 'x': it has"),
        (frame, frame.head(0).drop(columns="x"), "The support has no column 'x': it has"),
        (frame.rename(columns={"x": " X "}), frame, "The query has no column 'x', but ' X '"),
        (frame, frame.assign(x="oops"), "The support: The column 'x' should hold numbers"),
        (frame.assign(who=None), frame, "The query: Data row 1 does not say which task"),
        (frame, frame.assign(y=None), "The support: Data row 1 has no target"),
    ):
        for warn in (True, False):
            with pytest.raises(BmamlError) as caught:
                model.predict(query, support, warn=warn)
            assert told in sentence(caught.value)
    with pytest.raises(BmamlError, match="The pool has no column 'x'"):
        suggest_rows(model, frame.drop(columns="x"), None, 1)


def test_rows_far_outside_training_are_warned_of(model):
    frame = made_up(1, seed=2)
    with pytest.warns(OutsideTrainingWarning, match="The query: .*'x'.*1 row"):
        model.predict(frame.assign(x=[50.0, *frame.x[1:]]), frame)
    with pytest.warns(OutsideTrainingWarning, match="The support: .*'y'"):
        model.predict(frame, frame.assign(y=1e6))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(frame, frame)


def test_a_run_of_another_kind_and_a_tampered_one_are_named(tmp_path, folder):
    with pytest.raises(RunError, match="not a run folder"):
        TableModel.load(tmp_path)
    text = (folder / "run.json").read_text()
    other = tmp_path / "other"
    other.mkdir()
    (other / "run.json").write_text(text.replace('"table"', '"sinusoid"'))
    with pytest.raises(BmamlError, match="trained on sinusoid, not on a table"):
        TableModel.load(other)
    (other / "run.json").write_text(text.replace('"std":', '"sdt":'))
    with pytest.raises(BmamlError):
        TableModel.load(other)


def test_suggested_rows_differ_and_say_why(model, classifier):
    pool = pandas.concat([made_up(1, seed=2)] * 2)
    rows = suggest_rows(model, pool, None, 5)
    assert len({row.row % 8 for row in rows}) == 5  # none of the copies
    assert all("disagree" in row.reason for row in rows)
    assert all(one.score >= other.score - 1e-6 for one, other in itertools.pairwise(rows))
    labels = suggest_rows(classifier, pool, None, 5)
    assert len({row.row % 8 for row in labels}) == 5
    assert all("could be 'no'" in row.reason or "or 'no'" in row.reason for row in labels)
    entropy = classifier.predict(pool).entropy
    assert labels[0].score == pytest.approx(entropy.max(), rel=1e-5)
    with pytest.raises(ValueError, match="is for labels"):
        suggest_rows(model, pool, None, 2, acquisition="entropy")


def test_measuring_a_row_tells_nothing_of_another_task(model):
    one = made_up(1, seed=2)
    both = pandas.concat([one, one.assign(who="t1")])
    alone = suggest_rows(model, one, None, 4)
    together = suggest_rows(model, both, None, 8)
    for task in (0, 1):
        mine = [row for row in together if row.row // 8 == task]
        assert [row.row % 8 for row in mine] == [row.row for row in alone]
        np.testing.assert_allclose([r.score for r in mine], [r.score for r in alone], rtol=1e-4)
    assert all(one.score >= other.score - 1e-6 for one, other in itertools.pairwise(together))


def test_of_rows_wanted_alike_some_are_drawn(classifier):
    pool = made_up(1, rows=50, seed=2)

    def drawn(**seed):
        rows = suggest_rows(classifier, pool, None, 10, acquisition="random", **seed)
        return [row.row for row in rows]

    assert drawn() == drawn(seed=0)
    assert len({*drawn()}) == 10
    assert drawn() != sorted(drawn())
    assert max(drawn()) > 15
    assert set(drawn()) != set(drawn(seed=1))
