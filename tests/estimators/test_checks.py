"""The estimators pass scikit-learn's own checks."""

import pickle

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from bmaml.tables import model as table_model
from tests.estimators.data import CLASSES, TINY

# What a check of scikit-learn asks for and these estimators do not do, and why: nothing.
EXPECTED_FAILED_CHECKS: dict[str, str] = {}
# These ask for what only a training gives.
TRAINED_CHECKS = ("check_regressors_train", "check_classifiers_train")
_trainings = {}


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
