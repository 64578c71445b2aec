"""What the core relies on in any network, checked while it is traced: free once compiled."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key, PyTree

from bmaml.models.model import Model


def checked(model: Model) -> Model:
    """The same network, refusing weights or outputs that the core cannot use.

    Weights must be inexact arrays throughout, because updates add to them; outputs must be floats
    `(rows, ...)`, because likelihoods are read off them row by row.

    >>> import jax
    >>> broken = Model(lambda key, example: {"count": 3}, lambda weights, x: x)
    >>> checked(broken).init(jax.random.key(0), None)
    Traceback (most recent call last):
    ...
    TypeError: A network's weights must be floating-point arrays, but ['count'] is an int.

    Args:
        model: the network.

    Returns:
        The network with both functions checked; weights given as NumPy arrays become JAX arrays.
    """

    def init(key: Key[Array, ""], example: Any = None) -> PyTree:
        weights = model.init(key, example)
        named = jax.tree.leaves_with_path(weights)
        if not named:
            raise TypeError("A network must have weights to adapt, but this one has none.")
        for path, leaf in named:
            if not _is_array_of(leaf, jnp.inexact):
                raise TypeError(
                    "A network's weights must be floating-point arrays, but "
                    f"{jax.tree_util.keystr(path)} is {_describe(leaf)}."
                )
        return jax.tree.map(jnp.asarray, weights)

    def apply(weights: PyTree, x: Any) -> Array:
        outputs = model.apply(weights, x)
        rows = jnp.shape(x)[0]
        if not _is_array_of(outputs, jnp.floating) or outputs.shape[:1] != (rows,):
            raise TypeError(
                f"A network must map {rows} rows to a floating-point array of shape ({rows}, ...), "
                f"but this one returned {_describe(outputs)}."
            )
        return outputs

    return Model(init, apply)


def _is_array_of(value: Any, kind: Any) -> bool:
    return isinstance(value, jax.Array | np.ndarray) and bool(jnp.issubdtype(value.dtype, kind))


def _describe(value: Any) -> str:
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"an array of type {value.dtype} and shape {value.shape}"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
