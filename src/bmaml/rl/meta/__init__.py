"""Meta-updates: one contract (`update.py`), one file per member."""

from bmaml.rl.meta.chaser import Chaser
from bmaml.rl.meta.reptile import Reptile
from bmaml.rl.meta.trpo import TRPO
from bmaml.rl.meta.update import MetaBatch, MetaUpdate, Report

__all__ = ["TRPO", "Chaser", "MetaBatch", "MetaUpdate", "Report", "Reptile"]
