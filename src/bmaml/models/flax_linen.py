"""Flax Linen modules as networks: called on the batch."""

from typing import Any

from flax import linen
from jaxtyping import Array, Key, PyTree

from bmaml.models.check import checked
from bmaml.models.model import Model


def from_linen(module: linen.Module) -> Model:
    """A `Model` from a Flax Linen module, whose weights are its `params` collection.

    Args:
        module: maps a batch `(rows, ...)` to outputs `(rows, ...)`. Other collections (such as the
            statistics of BatchNorm) are refused.

    Returns:
        The `Model`; its `init` needs an example, from which Linen reads the input size.

    >>> import jax
    >>> network = from_linen(linen.Dense(1))
    >>> weights = network.init(jax.random.key(0), jax.numpy.ones((5, 2)))
    >>> network.apply(weights, jax.numpy.ones((5, 2))).shape
    (5, 1)
    """
    name = type(module).__name__

    def init(key: Key[Array, ""], example: Any) -> PyTree:
        if example is None:
            raise ValueError(
                f"The Linen module {name} learns its input size from data: call init(key, example) "
                "with a batch of inputs as the example."
            )
        # Unboxed: partitioning metadata wraps arrays in objects that do not add.
        variables = dict(linen.meta.unbox(module.init(key, example)))
        weights = variables.pop("params", {})
        if variables:
            raise TypeError(
                f"The Linen module {name} keeps collections besides 'params', which is not "
                f"supported: {', '.join(sorted(variables))}."
            )
        return weights

    def apply(weights: PyTree, x: Any) -> Array:
        return module.apply({"params": weights}, x)  # pyright: ignore[reportReturnType]

    return checked(Model(init, apply))
