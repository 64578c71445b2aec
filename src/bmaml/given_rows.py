"""Rows as a user gives them, arrays or lists, as arrays like those of the training."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array


def given_rows(name: str, values: Any, like: jax.ShapeDtypeStruct) -> Array:
    """`values` as an array of rows like those of `like`, or a sentence on what is wrong."""
    shape = tuple(like.shape[1:])
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(values)):
        raise TypeError(
            f"{name} is being traced by a transformation of JAX: inside of one use the pure functions, "
            "trained.learner.adapt(trained.particles, Data(x, y)) and learner.predict(adapted, x)."
        )
    try:
        given = np.asarray(values)
        if np.iscomplexobj(given):
            raise TypeError("complex numbers")
        # On the host, where looking for NaN costs no compilation. Too large becomes infinite.
        with np.errstate(over="ignore", invalid="ignore"):
            array = given.astype(like.dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} is not an array of numbers: {error}.") from error
    if np.issubdtype(like.dtype, np.integer) and not np.array_equal(given, array):
        raise ValueError(f"{name} must be whole numbers, as in the tasks of the training.")
    if name == "y" and shape == (1,) and array.ndim == 1:
        array = array[:, None]
    if array.ndim != 1 + len(shape):
        raise ValueError(
            f"{name} has shape {array.shape}, but the model was trained on rows of shape {shape}: "
            f"give an array of shape {('rows', *shape)}.".replace("'", "")
        )
    if array.shape[0] == 0:
        raise ValueError(
            f"{name} has no rows: give at least one (with steps=0 adapting leaves the particles alone)."
        )
    if array.shape[1:] != shape:
        raise ValueError(
            f"{name} has rows of shape {array.shape[1:]}, but the model was trained on rows of "
            f"shape {shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} contains NaN or infinity: remove or fill those rows first.")
    return jnp.asarray(array)
