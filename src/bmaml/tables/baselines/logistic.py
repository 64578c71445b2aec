"""A linear classifier for each task."""

from typing import Any, ClassVar

from sklearn.linear_model import LogisticRegression

from bmaml.tables.baselines.baseline import LabelsPerTask


class Logistic(LabelsPerTask):
    """Logistic regression on the support rows alone, with scikit-learn's default penalty."""

    about: ClassVar[str] = "a linear classifier of the support rows alone"

    def classifier(self, width: int) -> Any:
        """Of as many classes as there are."""
        return LogisticRegression(max_iter=300)
