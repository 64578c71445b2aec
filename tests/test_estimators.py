"""The estimators keep scikit-learn's promises, and bmaml's: to adapt, and to know what is not known."""

import pickle

import jax
import numpy as np
import pandas
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from bmaml.cli.main import main
from bmaml.errors import BmamlError, OutsideTrainingWarning, RunError
from bmaml.estimators import FewShotClassifier, FewShotRegressor
from bmaml.estimators.table import few_of_each, pseudo_tasks
from bmaml.tables import model as table_model
from bmaml.tasks import Data
from bmaml.trained import Compiled, of_seed
from bmaml.training_state import Example, begin

# What a check of scikit-learn asks for and these estimators do not do, and why: nothing.
EXPECTED_FAILED_CHECKS: dict[str, str] = {}
# These ask for what only a training gives.
TRAINED_CHECKS = ("check_regressors_train", "check_classifiers_train")

# The method that compiles fastest: what the checks look at is the same for all.
TINY = {"method": "emaml", "num_particles": 2, "hidden": (8,), "inner_steps": 1, "random_state": 0}
CLASSES = {"numbers": FewShotRegressor, "labels": FewShotClassifier}
METHODS = {"numbers": "bmaml", "labels": "emaml"}
both = pytest.mark.parametrize("kind", list(CLASSES))
# The first tasks of the table are left out of training.
NEW = slice(0, 12)
KNOWN = slice(36, None)


def table(kind, tasks=20, rows=12):
    """Lines of one slope and one effect of colour; the offset differs from task to task."""
    draw = np.random.default_rng(0)
    x, offset = draw.uniform(-1, 1, tasks * rows), np.repeat(draw.normal(0, 2, tasks), rows)
    X = pandas.DataFrame({"x": x, "colour": draw.choice(["red", "green"], tasks * rows)})
    y = x + offset + (X["colour"] == "red") + draw.normal(0, 0.1, tasks * rows)
    y = y if kind == "numbers" else pandas.Series(np.where(y > 0, "high", "low"))
    X.loc[3::17, "x"], X.loc[5::17, "colour"] = np.nan, None
    groups = pandas.Series(np.repeat([f"line {i}" for i in range(tasks)], rows), name="line")
    return X, y.rename("height"), groups


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Both kinds trained with groups, each into a folder."""
    estimators = {}
    for kind, estimator in CLASSES.items():
        X, y, groups = table(kind)
        options = {"method": METHODS[kind], "num_particles": 3, "hidden": (16,), "inner_steps": 1}
        out = tmp_path_factory.mktemp(kind) / "run"
        made = estimator(**options, shots=5, steps=300, random_state=0, out=out)
        estimators[kind] = made.fit(X[KNOWN], y[KNOWN], groups=groups[KNOWN])
    return estimators


@pytest.fixture
def untrained(monkeypatch):
    """Leaves out the meta-updates, whose compilation takes seconds for each of dozens of shapes.

    What is then predicted is what adaptation makes of initial particles. Gives the names of the
    training tasks of each fit.
    """
    fits = []

    def begin_only(learner, tasks, *, steps, seed, **options):
        fits.append(tasks.prepared.parts["train"].names)
        rows = tasks.training_set(jax.random.key(0))
        example = Example.of(Data(rows.x[:1], rows.y[:1]))
        start = (str(example), tasks.prepared.encoding.outputs)
        if start not in _starts:
            _starts[start] = jax.jit(lambda: begin(learner, [0], example.inputs(), steps))()
        return of_seed(_starts[start], 0, seed, learner, [], example, Compiled(learner))

    monkeypatch.setattr(table_model, "fit", begin_only)
    return fits


_starts, _trainings = {}, {}


@pytest.fixture
def trained_once(monkeypatch):
    """Trains on any data once only: the second time would give the same."""
    fit = table_model.TableModel.fit

    def once(prepared, **options):
        key = pickle.dumps((prepared.parts["train"], options))
        if key not in _trainings:
            _trainings[key] = fit(prepared, **options)
        return _trainings[key]

    monkeypatch.setattr(table_model.TableModel, "fit", once)


def checks(steps, *, trained):
    """scikit-learn's checks of both estimators, as parameters of a test."""

    def parameter(estimator, check):
        name = check.func.__name__
        reason = EXPECTED_FAILED_CHECKS.get(name)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        return pytest.param(estimator, check, id=f"{type(estimator).__name__}-{name}", marks=marks)

    return [
        parameter(made, check)
        for estimator in CLASSES.values()
        for made, check in estimator_checks_generator(estimator(**TINY, steps=steps))
        if (check.func.__name__ in TRAINED_CHECKS) == trained
    ]


@pytest.mark.parametrize(("estimator", "check"), checks(20, trained=False))
def test_scikit_learn_checks(estimator, check, untrained):
    check(estimator)


@pytest.mark.parametrize(("estimator", "check"), checks(300, trained=True))
def test_scikit_learn_checks_of_a_training(estimator, check, trained_once):
    check(estimator)


@both
def test_parameters_are_kept_as_they_are(kind):
    hidden = [4, 4]
    estimator = CLASSES[kind](hidden=hidden, steps=7)
    assert estimator.hidden is hidden
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(method="maml").method == "maml"


def test_rows_of_a_new_task_improve_its_predictions(trained):
    model = trained["numbers"]
    X, y, _ = table("numbers")
    X, y = X[NEW], y[NEW]
    prior, prior_std = model.adapt(X[:0], y[:0]).predict(X, return_std=True)
    assert np.all(prior_std > 1)  # Offsets have a standard deviation of 2.
    mean, std = model.adapt(X[:5], y[:5]).predict(X, return_std=True)
    assert np.mean((mean - y)[5:] ** 2) < 0.5 * np.mean((prior - y)[5:] ** 2)
    assert model.score(X[5:], y[5:]) == r2_score(y[5:], mean[5:])
    quantiles = model.predict_quantiles(X, [0.05, 0.5, 0.95])
    assert np.all(np.diff(quantiles, axis=1) > 0)
    # Of a mixture of a few Gaussians, near that of one.
    np.testing.assert_allclose(quantiles[:, 2] - quantiles[:, 0], 2 * 1.645 * std, rtol=0.2)


def test_labels_of_a_new_task_improve_its_predictions(trained):
    model = trained["labels"]
    X, y, groups = table("labels")
    low = next(name for name in groups.unique() if (y[groups == name] == "low").all())
    X, y = X[groups == low], y[groups == low]
    prior = model.adapt(X[:0], y[:0]).predict_proba(X)
    adapted = model.adapt(X[:5], y[:5]).predict_proba(X)
    assert log_loss(y, adapted, labels=model.classes_) < log_loss(y, prior, labels=model.classes_)
    assert model.classes_.tolist() == ["high", "low"]
    np.testing.assert_allclose(adapted.sum(axis=1), 1, rtol=1e-12)


@both
def test_adapts_from_what_was_trained_not_from_the_task_before(trained, kind):
    model = trained[kind]
    X, y, _ = table(kind)
    first = model.adapt(X[:5], y[:5]).predict(X)
    prior = model.adapt(X[:0], y[:0]).predict(X)
    model.adapt(X[12:20], y[12:20])
    np.testing.assert_array_equal(model.adapt(X[:0], y[:0]).predict(X), prior)
    assert model.adapt(X[:5], y[:5]) is model
    np.testing.assert_array_equal(model.predict(X), first)


@both
def test_a_score_with_groups_is_that_of_new_tasks(trained, kind):
    model = trained[kind]
    X, y, groups = table(kind)
    new = slice(0, KNOWN.start)
    prior = model.adapt(X[:0], y[:0]).score(X[new], y[new])
    few_shot = model.score(X[new], y[new], groups=groups[new])
    assert few_shot > prior
    model.adapt(X[:5], y[:5])  # Has nothing to do with it.
    weights = np.ones(KNOWN.start)
    assert few_shot == model.score(X[new], y[new], sample_weight=weights, groups=groups[new])


@both
def test_a_run_folder_can_be_loaded(trained, kind, tmp_path):
    model = trained[kind]
    X, y, _ = table(kind)
    loaded = CLASSES[kind].load(model.out)
    np.testing.assert_array_equal(loaded.predict(X), model.adapt(X[:0], y[:0]).predict(X))
    expected = model.adapt(X[:4], y[:4]).predict(X)
    np.testing.assert_array_equal(loaded.adapt(X[:4], y[:4]).predict(X), expected)
    assert loaded.get_params() == {**model.get_params(), "out": None}
    other = CLASSES["labels" if kind == "numbers" else "numbers"]
    with pytest.raises(BmamlError, match=f"open it with {type(model).__name__}.load"):
        other.load(model.out)
    with pytest.raises(RunError, match="already holds a run"):
        clone(model).fit(X, y, groups=table(kind)[2])


def test_the_command_predicts_from_a_run_folder(trained, tmp_path):
    model = trained["numbers"]
    X, y, _ = table("numbers")
    X[:5].assign(height=y[:5]).to_csv(tmp_path / "few.csv", index=False)
    X[5:12].to_csv(tmp_path / "new.csv", index=False)
    support, query, out = (str(tmp_path / name) for name in ("few.csv", "new.csv", "out.csv"))
    main(["predict", str(model.out), "--support", support, "--query", query, "--out", out])
    written = pandas.read_csv(out)
    mean, std = model.adapt(X[:5], y[:5]).predict(X[5:12], return_std=True)
    np.testing.assert_allclose(written["mean"], mean, rtol=1e-4)
    np.testing.assert_allclose(written["std"], std, rtol=1e-4)


@both
def test_a_pickle_predicts_the_same(trained, kind):
    X, y, _ = table(kind)
    model = trained[kind].adapt(X[:5], y[:5])
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(
        copy.adapt(X[5:9], y[5:9]).predict(X), model.adapt(X[5:9], y[5:9]).predict(X)
    )


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


@both
def test_rows_unlike_any_in_training_are_told(trained, kind):
    X, y, _ = table(kind)
    model = trained[kind].adapt(X[:5], y[:5])
    with pytest.warns(OutsideTrainingWarning, match="'x'"):
        model.predict(X[:3].assign(x=100.0))
    with pytest.warns(OutsideTrainingWarning, match="'colour'"):
        model.adapt(X[:3].assign(colour="blue"), y[:3])


@both
def test_what_cannot_be_is_told(trained, kind):
    model = trained[kind]
    X, y, groups = table(kind)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.adapt(X[:5], y[:4])
    with pytest.raises(ValueError, match="steps is -1"):
        model.adapt(X[:5], y[:5], steps=-1)
    with pytest.raises(ValueError, match="infinity"):
        model.predict(X.assign(x=np.inf))
    with pytest.raises(ValueError, match=r"'x'.*'many'"):
        model.predict(X.assign(x="many"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y, groups=groups[:-1])
    with pytest.raises(NotFittedError):
        CLASSES[kind]().adapt(X[:5], y[:5])


@both
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"method": "magic"}, "Unknown method 'magic'"),
        ({"method": "maml", "num_particles": 2}, "maml has one particle"),
        ({"steps": 0}, "steps is 0"),
        ({"shots": 0}, "shots is 0"),
        ({"hidden": (0,)}, "at least one unit"),
        ({"validation_share": 1.0}, "leave some for training"),
    ],
)
def test_settings_that_cannot_be_are_told(kind, options, sentence):
    X, y, groups = table(kind)
    with pytest.raises(ValueError, match=sentence):
        CLASSES[kind](**options).fit(X, y, groups=groups)


@both
def test_data_that_cannot_be_are_told(kind):
    X, y, groups = table(kind)
    estimator = CLASSES[kind](**TINY)
    with pytest.raises(ValueError, match=r"tasks? of two or more rows"):
        estimator.fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="Without groups, fit needs at least 6 rows"):
        estimator.fit(X[:5], [0, 1, 0, 1, 0])
    with pytest.raises(ValueError, match="NaN"):
        estimator.fit(X, y, groups=groups.where(groups != "line 1"))
    with pytest.raises(ValueError, match=r"the same in all|only one class"):
        estimator.fit(X, np.ones(len(y)), groups=groups)


def test_a_class_that_training_did_not_show_is_told(trained):
    X, _, _ = table("labels")
    with pytest.raises(ValueError, match="'middling', which training did not"):
        trained["labels"].adapt(X[:2], ["high", "middling"])
    with pytest.raises(ValueError, match="quantiles must lie"):
        trained["numbers"].predict_quantiles(X, [0.5, 1.0])


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


@both
def test_names_of_series_are_the_names_in_the_run(kind, untrained):
    X, y, groups = table(kind)
    named = CLASSES[kind](**TINY).fit(X, y, groups=groups).model_.encoding
    assert (named.task, named.target) == ("line", "height")
    taken = X.assign(task=1.0, line=X["x"])
    unnamed = CLASSES[kind](**TINY).fit(taken, y.to_numpy(), groups=groups).model_.encoding
    assert (unnamed.task, unnamed.target) == ("task_", "target")


@both
def test_groups_reach_fits_and_scores_of_a_search(kind, untrained):
    X, y, groups = table(kind)
    estimator = CLASSES[kind](**TINY)
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator, {"validation_share": [0.2, 0.3]}, cv=GroupKFold(2))
        search.fit(X, y, groups=groups)
        scores = cross_val_score(estimator, X, y, params={"groups": groups}, cv=GroupKFold(2))
    # Two settings and two folds, all of it once more, and two folds; all by the names of lines.
    assert len(untrained) == 7
    assert all(name.startswith("line") for names in untrained for name in names)
    for (train, test), score in zip(GroupKFold(2).split(X, y, groups), scores, strict=True):
        model = clone(estimator).fit(X.iloc[train], y[train], groups=groups[train])
        assert score == model.score(X.iloc[test], y[test], groups=groups[test])


@both
def test_groups_reach_fits_without_routing(kind, untrained):
    X, y, groups = table(kind)
    estimator = CLASSES[kind](**TINY)
    cross_val_score(estimator, X, y, groups=groups, params={"groups": groups}, cv=GroupKFold(2))
    assert all(name.startswith("line") for names in untrained for name in names)


@both
@pytest.mark.parametrize("routing", [True, False])
def test_is_the_last_step_of_a_pipeline(kind, routing, untrained):
    X, y, groups = table(kind)
    X = X[["x"]].fillna(0.0)
    estimator = CLASSES[kind](**TINY)
    pipeline = make_pipeline(StandardScaler(), estimator)
    with sklearn.config_context(enable_metadata_routing=routing):
        name = "groups" if routing else f"{type(estimator).__name__.lower()}__groups"
        pipeline.fit(X, y, **{name: groups})
    assert untrained[0][0].startswith("line")
    scaled = StandardScaler().fit_transform(X)
    expected = clone(estimator).fit(scaled, y, groups=groups).predict(scaled)
    np.testing.assert_array_equal(pipeline.predict(X), expected)


@both
def test_what_is_left_out_is_noted(kind, untrained):
    X, y, groups = table(kind)
    X = X.assign(station="north")
    for options in ({}, {"groups": groups}):
        notes = CLASSES[kind](**TINY).fit(X, y, **options).notes_
        assert any("'station' is left out" in note for note in notes)
        assert any("'x' is empty" in note for note in notes)


def test_names_are_told_apart_from_places(untrained):
    X, y, _ = table("numbers")
    X = X.assign(colour=(X["colour"] == "red").astype(float))
    named, placed = (FewShotRegressor(**TINY).fit(data, y) for data in (X, X.to_numpy()))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(named.predict(X.to_numpy()), named.predict(X))
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        np.testing.assert_array_equal(placed.predict(X), placed.predict(X.to_numpy()))


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
