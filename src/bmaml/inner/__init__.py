"""Fast adaptation: one contract (`update.py`), one file per member."""

from bmaml.inner.gd import GradientDescent
from bmaml.inner.svgd import SVGD, stein_direction
from bmaml.inner.update import InnerUpdate, Target

INNER_UPDATES: dict[str, type[InnerUpdate]] = {
    "gd": GradientDescent,
    "svgd": SVGD,
}

__all__ = ["INNER_UPDATES", "SVGD", "GradientDescent", "InnerUpdate", "Target", "stein_direction"]
