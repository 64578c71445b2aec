"""Bayesian few-shot learning in JAX: predictions with honest uncertainty from a few examples."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bmaml import (
        active,
        distances,
        estimators,
        inner,
        kernels,
        meta,
        metrics,
        models,
        novelty,
        particles,
        pictures,
        posterior,
        predictive,
        report,
        rl,
        scale,
        tables,
        tasks,
    )
    from bmaml.estimators import FewShotClassifier, FewShotRegressor
    from bmaml.learner import Learner, MetaOptimizer
    from bmaml.presets import bfa, bmaml, emaml, fomaml, maml, reptile
    from bmaml.report.comparison import compare
    from bmaml.train import fit, fit_seeds
    from bmaml.trained import Trained

__version__ = version("bmaml")

__all__ = [
    "FewShotClassifier",
    "FewShotRegressor",
    "Learner",
    "MetaOptimizer",
    "Trained",
    "active",
    "bfa",
    "bmaml",
    "compare",
    "distances",
    "emaml",
    "estimators",
    "fit",
    "fit_seeds",
    "fomaml",
    "inner",
    "kernels",
    "maml",
    "meta",
    "metrics",
    "models",
    "novelty",
    "particles",
    "pictures",
    "posterior",
    "predictive",
    "report",
    "reptile",
    "rl",
    "scale",
    "tables",
    "tasks",
]

# Where each public name that is not a module lives. Names are imported on first use, so that
# `bmaml --help` does not wait for JAX.
_HOMES = {
    "Learner": "bmaml.learner",
    "MetaOptimizer": "bmaml.learner",
    "Trained": "bmaml.trained",
    "compare": "bmaml.report.comparison",
    "fit": "bmaml.train",
    "fit_seeds": "bmaml.train",
    **dict.fromkeys(("FewShotClassifier", "FewShotRegressor"), "bmaml.estimators"),
    **dict.fromkeys(("bfa", "bmaml", "emaml", "fomaml", "maml", "reptile"), "bmaml.presets"),
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"bmaml.{name}")
    raise AttributeError(f"module 'bmaml' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
