"""Distances from a set of particles to another: one contract (`distance.py`), one file per member."""

from bmaml.distances.distance import Distance
from bmaml.distances.mmd import MMD
from bmaml.distances.paired import PairedSquared, paired_squared
from bmaml.distances.prediction import PredictionSpace

DISTANCES: dict[str, type[Distance]] = {
    "paired": PairedSquared,
    "mmd": MMD,
    "prediction": PredictionSpace,
}

__all__ = ["DISTANCES", "MMD", "Distance", "PairedSquared", "PredictionSpace", "paired_squared"]
