"""Fast adaptation: one contract (`update.py`), one file per member."""

from bmaml.inner.gd import GradientDescent
from bmaml.inner.hmc import HMC
from bmaml.inner.sgld import SGLD
from bmaml.inner.svgd import SVGD, stein_direction
from bmaml.inner.update import InnerUpdate, Target

INNER_UPDATES: dict[str, type[InnerUpdate]] = {
    "gd": GradientDescent,
    "svgd": SVGD,
    "sgld": SGLD,
    "hmc": HMC,
}

__all__ = [
    "HMC",
    "INNER_UPDATES",
    "SGLD",
    "SVGD",
    "GradientDescent",
    "InnerUpdate",
    "Target",
    "stein_direction",
]
