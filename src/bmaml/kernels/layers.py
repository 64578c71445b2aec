"""The layers of a particle: leaves that stand together in its tree."""

from itertools import groupby

import jax
from jaxtyping import Array, PyTree


def layers_of(particles: PyTree) -> list[list[Array]]:
    """The leaves of a set by what holds them: the weight and the bias of one layer are together.

    >>> layers_of({"first": {"bias": 1, "weight": 2}, "second": {"bias": 3}, "precision": 4})
    [[1, 2], [4], [3]]
    """
    leaves = jax.tree.leaves_with_path(particles)
    # What stands at the top, such as a precision, is a layer by itself.
    groups = groupby(leaves, lambda item: item[0][: max(1, len(item[0]) - 1)])
    return [[leaf for _, leaf in layer] for _, layer in groups]
