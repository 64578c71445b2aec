"""What cannot be is told in a sentence, and what is odd in a warning."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from bmaml.errors import OutsideTrainingWarning
from bmaml.kernels import KERNELS
from tests.estimators.data import CLASSES, TINY, both, table


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
        ({"method": "bfa", "distance": "mmd"}, "bfa has no distance: .* has it: bmaml"),
        ({"method": "maml", "leader_steps": 2}, "maml has no leader_steps"),
        ({"method": "emaml", "kernel": "imq"}, "'gd' has no kernel"),
        ({"kernel": "cubic"}, "Unknown kernel 'cubic': use one of rbf"),
        ({"kernel": KERNELS["rbf"]()}, "kernel must be a name, .* give it to bmaml.fit"),
        ({"steps": 0}, "steps is 0"),
        ({"shots": 0}, "shots is 0"),
        ({"hidden": (0,)}, "at least one unit"),
        ({"validation_share": 1.0}, "leave some for training"),
        ({"validation_share": 0}, "validation_share is 0"),
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
    with pytest.raises(ValueError, match="'middling', which no training task had"):
        trained["labels"].adapt(X[:2], ["high", "middling"])
    with pytest.raises(ValueError, match="quantiles must lie"):
        trained["numbers"].predict_quantiles(X, [0.5, 1.0])
