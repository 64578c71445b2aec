"""Networks: a built-in perceptron, and adapters for the ones you have already written."""

from bmaml.models.convert import as_model
from bmaml.models.mlp import mlp
from bmaml.models.model import Model

__all__ = ["Model", "as_model", "mlp"]
