"""What a set of particles predicts: one kind of prediction per file."""

from bmaml.predictive.classification import ClassificationPrediction
from bmaml.predictive.labels import Labels, check_labels
from bmaml.predictive.regression import RegressionPrediction, Targets

__all__ = [
    "ClassificationPrediction",
    "Labels",
    "RegressionPrediction",
    "Targets",
    "check_labels",
]
