"""Networks: a built-in perceptron, and adapters for the ones you have already written."""

from bmaml.models.conv import ConvFeatures, conv
from bmaml.models.convert import as_model
from bmaml.models.mlp import mlp
from bmaml.models.model import Model
from bmaml.models.shared import SharedModel, features_and_heads, share

__all__ = [
    "ConvFeatures",
    "Model",
    "SharedModel",
    "as_model",
    "conv",
    "features_and_heads",
    "mlp",
    "share",
]
