"""Active learning (Algorithm 4 of Kim et al. 2018): label what is most uncertain."""

from bmaml.active.acquisitions import ACQUISITIONS, Acquisition
from bmaml.active.curves import curve, curve_of_tasks, score_rounds
from bmaml.active.pool import split_query
from bmaml.active.rounds import Learned, learn
from bmaml.active.suggestion import Suggestion, suggest

__all__ = [
    "ACQUISITIONS",
    "Acquisition",
    "Learned",
    "Suggestion",
    "curve",
    "curve_of_tasks",
    "learn",
    "score_rounds",
    "split_query",
    "suggest",
]
