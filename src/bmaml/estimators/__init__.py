"""Few-shot learning in scikit-learn's habits."""

from bmaml.estimators.classifier import FewShotClassifier
from bmaml.estimators.regressor import FewShotRegressor

__all__ = ["FewShotClassifier", "FewShotRegressor"]
