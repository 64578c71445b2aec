"""Class labels: the integers 0..C−1, and what is done about others."""

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Integer

# Exactly one label for each row of a prediction, or one class for all of them.
Labels = Integer[Array | np.ndarray, "*rows"] | int


def pick(log_probabilities: Float[Array, "*rows classes"], y: Array) -> Float[Array, "*rows"]:
    r"""The log probability of each row's label, $\ell_{i, y_i}$.

    A label outside 0..C−1 gives NaN: inside `jit` nothing can be raised, and any other number would
    pass for a result. `check_labels` finds such labels beforehand.

    Arguments:
        log_probabilities: ℓ, the classes last.
        y: integer labels of the rows' shape.

    Returns:
        One number for each row.

    >>> pick(jnp.array([[-1.0, -2.0], [-3.0, -4.0]]), jnp.array([1, 2]))
    Array([-2., nan], dtype=float32)
    """
    classes = log_probabilities.shape[-1]
    # A comparison, not a gather: the gather's derivative is a scatter, slow for a handful of classes.
    numbers = jnp.arange(classes, dtype=jnp.int32).reshape((1,) * y.ndim + (-1,))
    chosen = y.astype(jnp.int32)[..., None] == numbers
    picked = jnp.sum(jnp.where(chosen, log_probabilities, 0.0), axis=-1)
    return jnp.where(jnp.any(chosen, axis=-1), picked, jnp.nan)


def check_integers(y: Array | np.ndarray) -> None:
    """Labels must be integers: as a number, 0.7 would quietly become class 0."""
    if not jnp.issubdtype(y.dtype, jnp.integer):
        raise ValueError(f"The labels are {y.dtype}: give integers, 0 for the first class.")


def check_labels(y: ArrayLike, classes: int) -> None:
    """Refuse labels that are no class, on the host, before anything is compiled.

    Arguments:
        y: labels, of any shape.
        classes: C; labels are 0..C−1.

    >>> check_labels(np.array([0, 5]), 5)
    Traceback (most recent call last):
    ...
    ValueError: The labels reach from 0 to 5, but the 5 classes are numbered 0 to 4.
    """
    labels = np.asarray(y)
    check_integers(labels)
    if labels.size and not (labels.min() >= 0 and labels.max() < classes):
        raise ValueError(
            f"The labels reach from {labels.min()} to {labels.max()}, but the {classes} classes are "
            f"numbered 0 to {classes - 1}."
        )
