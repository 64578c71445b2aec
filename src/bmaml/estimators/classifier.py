"""Few-shot classification in scikit-learn's habits."""

from dataclasses import replace
from inspect import cleandoc
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Array, Float
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from bmaml.estimators.few_shot import FewShot
from bmaml.estimators.settings import Settings
from bmaml.predictive import ClassificationPrediction
from bmaml.tables.encoding import Encoding
from bmaml.tables.model import TableModel
from bmaml.tables.predictions import ClassPredictions
from bmaml.tables.targets import ClassTarget


class FewShotClassifier(ClassifierMixin, FewShot):
    """Predicts classes of a new task from a few rows of it, with honest probabilities.

    All tasks have the same classes, though a task need not show all of them::

        model = FewShotClassifier(random_state=0).fit(X, y, groups=machines)
        model.adapt(few_X, few_y).predict_proba(new_X)
    """

    __doc__ = f"{cleandoc(__doc__ or '')}\n\n{cleandoc(Settings.__doc__ or '')}"
    kind: ClassVar[Literal["numbers", "labels"]] = "labels"

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each row."""
        probabilities = self.predict_proba(X)  # First, as it knows whether there are classes yet.
        return self.classes_[np.argmax(probabilities, axis=1)]

    def predict_proba(self, X: Any) -> Float[np.ndarray, "rows classes"]:
        """The probability of each class in the order of `classes_`, one row for each row of X."""
        probabilities = self._predict(X, _probabilities)
        # They sum to one in single precision only, which some metrics take offence at.
        return probabilities / probabilities.sum(axis=1, keepdims=True)

    def predict_log_proba(self, X: Any) -> Float[np.ndarray, "rows classes"]:
        """The logarithms of these probabilities."""
        return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """The share of right predictions on the task adapted to; or with `groups`, on new tasks.

        With groups, up to `shots` rows of each task (and at most half) are adapted to, and the score
        is that of its other rows: what a search or a cross-validation should compare.
        """
        if groups is None:
            return super().score(X, y, sample_weight)
        predictions, asked = self._predict_held_out(X, y, groups)
        assert isinstance(predictions, ClassPredictions)
        predicted = self.classes_[np.argmax(predictions.probabilities, axis=1)]
        weight = None if sample_weight is None else np.asarray(sample_weight)[asked]
        return float(accuracy_score(np.asarray(y)[asked], predicted, sample_weight=weight))

    def _learn_targets(self, y: Any) -> np.ndarray:
        targets = _labels(self, y)
        check_classification_targets(targets)
        self.classes_ = np.unique(targets)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds only one class, {self.classes_[0]!r}: there is nothing to learn."
            )
        return targets

    def _targets(self, y: Any) -> np.ndarray:
        # A class that is not known is the encoding's to tell; it knows 2 by other names, such as 2.0.
        return _labels(self, y)

    def _complete(self, encoding: Encoding) -> Encoding:
        # Some class may be found in validation tasks only.
        return replace(encoding, targets=ClassTarget(tuple(self.classes_.tolist())))

    def _adopt(self, model: TableModel) -> None:
        super()._adopt(model)
        assert isinstance(model.encoding.targets, ClassTarget)
        self.classes_ = np.array(model.encoding.targets.classes)


def _labels(estimator: FewShotClassifier, y: Any) -> np.ndarray:
    if y is None:
        name = type(estimator).__name__
        raise ValueError(f"{name} requires y to be passed, but the target y is None.")
    labels = column_or_1d(y, warn=True)
    assert_all_finite(labels, input_name="y")
    return labels


def _probabilities(prediction: ClassificationPrediction) -> Float[Array, "rows classes"]:
    return prediction.probabilities
