"""A few rows of a new task make its predictions better, wherever the estimator comes from."""

import pickle

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss, r2_score

from bmaml.cli.main import main
from bmaml.distances import MMD
from bmaml.errors import BmamlError, RunError
from bmaml.estimators import FewShotRegressor
from bmaml.posterior import FlatPrior
from tests.estimators.data import CLASSES, KNOWN, NEW, both, table


def test_rows_of_a_new_task_improve_its_predictions(trained):
    model = trained["numbers"]
    X, y, _ = table("numbers")
    X, y = X[NEW], y[NEW]
    prior, prior_std = model.adapt(X[:0], y[:0]).predict(X, return_std=True)
    assert np.all(prior_std > 1)  # Offsets have a standard deviation of 2.
    model = model.adapt(X[:5], y[:5])
    mean, std = model.predict(X, return_std=True)
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
    before = model.predict(X)
    first = model.adapt(X[:5], y[:5])
    expected = first.predict(X)
    second = first.adapt(X[12:20], y[12:20])
    np.testing.assert_array_equal(second.predict(X), model.adapt(X[12:20], y[12:20]).predict(X))
    # Neither the model nor what it was adapted to before has changed.
    np.testing.assert_array_equal(first.predict(X), expected)
    np.testing.assert_array_equal(model.predict(X), before)
    assert not np.array_equal(before, expected)


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


def test_what_was_trained_without_a_folder_is_saved_with_all_its_parts(tmp_path):
    X, y, groups = table("numbers")
    parts = {"inner": "sgld", "temperature": 0.01, "distance": "mmd", "leader_steps": 2}
    parts |= {"prior": "flat", "likelihood": "gaussian", "learned_steps": True, "leader_rows": "query"}
    options = {"num_particles": 2, "hidden": (4,), "shots": 4, "random_state": 0, "steps": 2}
    model = FewShotRegressor(**options, **parts).fit(X[KNOWN], y[KNOWN], groups=groups[KNOWN])
    learner = model.model_.trained.learner
    assert (learner.inner.temperature, learner.inner.learned_steps) == (0.01, True)
    assert (type(learner.meta.distance), learner.meta.leader_steps) == (MMD, 2)
    assert (type(learner.posterior.prior), learner.meta.leader_rows) == (FlatPrior, "query")
    model.save(tmp_path / "run")
    loaded = FewShotRegressor.load(tmp_path / "run")
    assert loaded.get_params() == model.get_params()
    np.testing.assert_array_equal(loaded.predict(X), model.adapt(X[:0], y[:0]).predict(X))


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
