"""Bayesian few-shot learning in JAX: predictions with honest uncertainty from a few examples."""

from importlib import import_module
from importlib.metadata import version
from typing import Any

__version__ = version("bmaml")

# Where each public name lives. Names are imported on first use, so that `bmaml --help` does not wait
# for JAX.
_HOMES = {
    "Learner": "bmaml.learner",
    "MetaOptimizer": "bmaml.learner",
    "Trained": "bmaml.trained",
    "fit": "bmaml.train",
    "fit_seeds": "bmaml.train",
    **dict.fromkeys(("bfa", "bmaml", "emaml", "fomaml", "maml", "reptile"), "bmaml.presets"),
}
_MODULES = (
    "distances",
    "inner",
    "kernels",
    "meta",
    "metrics",
    "models",
    "particles",
    "posterior",
    "predictive",
    "tasks",
)

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"bmaml.{name}")
    raise AttributeError(f"module 'bmaml' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
