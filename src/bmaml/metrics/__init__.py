"""How good predictions are: of one task (`score`), and of many (`summarise`)."""

from bmaml.metrics.classification import (
    accuracy,
    brier,
    expected_calibration_error,
    particle_accuracy,
)
from bmaml.metrics.confidence_bins import Calibration, Reliability, calibration, reliability
from bmaml.metrics.likelihood import negative_log_likelihood
from bmaml.metrics.overconfidence import Sharpenable, SharpnessCurve, sharpness_curve
from bmaml.metrics.ranking import RefusalCurve, auroc, refusal_curve
from bmaml.metrics.regression import coverage, crps, ensemble_mse, particle_mse
from bmaml.metrics.scoring import KINDS, Kind, Pooled, score, summarise

__all__ = [
    "KINDS",
    "Calibration",
    "Kind",
    "Pooled",
    "RefusalCurve",
    "Reliability",
    "Sharpenable",
    "SharpnessCurve",
    "accuracy",
    "auroc",
    "brier",
    "calibration",
    "coverage",
    "crps",
    "ensemble_mse",
    "expected_calibration_error",
    "negative_log_likelihood",
    "particle_accuracy",
    "particle_mse",
    "refusal_curve",
    "reliability",
    "score",
    "sharpness_curve",
    "summarise",
]
