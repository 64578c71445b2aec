"""The estimators work inside scikit-learn's searches, cross-validation and pipelines."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bmaml.estimators import FewShotClassifier, FewShotRegressor
from bmaml.estimators.settings import METHOD_OPTIONS
from bmaml.kernels import kernel_named
from bmaml.presets import METHODS, options_of
from tests.estimators.data import CLASSES, TINY, both, table


@both
def test_parameters_are_kept_as_they_are(kind):
    hidden = [4, 4]
    estimator = CLASSES[kind](hidden=hidden, steps=7)
    assert estimator.hidden is hidden
    assert clone(estimator).get_params() == estimator.get_params()
    assert estimator.set_params(method="maml").method == "maml"


def test_every_option_of_every_method_is_a_parameter():
    options = {name for method in METHODS for name in options_of(method)}
    assert set(METHOD_OPTIONS) == options - {"targets"}  # which is which estimator it is
    assert set(METHOD_OPTIONS) <= set(FewShotRegressor().get_params())
    assert all(f"    {name}: " in str(FewShotClassifier.__doc__) for name in METHOD_OPTIONS)


@both
def test_a_search_can_vary_the_parts_of_a_method(kind, untrained):
    X, y, groups = table(kind)
    parts = {"kernel": ["imq", "rbf-70"], "inner_steps": np.array([2, 3])}
    estimator = CLASSES[kind](**{**TINY, "method": "bfa"})
    with sklearn.config_context(enable_metadata_routing=True):
        search = GridSearchCV(estimator, parts, cv=GroupKFold(2)).fit(X, y, groups=groups)
    inner = search.best_estimator_.model_.trained.learner.inner
    assert inner.steps == search.best_params_["inner_steps"]
    named = kernel_named(search.best_params_["kernel"])
    assert inner.kernel.profile.__qualname__ == named.profile.__qualname__
    assert len(untrained) == 9


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
