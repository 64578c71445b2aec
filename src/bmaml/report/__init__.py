"""What is told about a run: scores with intervals, how far to trust them, and a page with plots."""

from bmaml.report.comparison import Comparison, compare
from bmaml.report.evaluation import Evaluation

__all__ = ["Comparison", "Evaluation", "compare"]
