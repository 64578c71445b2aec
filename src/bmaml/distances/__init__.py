"""Distances from a set of particles to another: one contract (`distance.py`), one file per member."""

from collections.abc import Callable
from functools import partial

from bmaml.distances.distance import Distance
from bmaml.distances.mmd import MMD
from bmaml.distances.paired import PairedSquared, paired_squared
from bmaml.distances.prediction import PredictionSpace
from bmaml.kernels import imq

DISTANCES: dict[str, Callable[[], Distance]] = {
    "paired": PairedSquared,
    "mmd": MMD,
    "mmd-imq": partial(MMD, imq()),
    "prediction": PredictionSpace,
}

__all__ = ["DISTANCES", "MMD", "Distance", "PairedSquared", "PredictionSpace", "paired_squared"]
