"""What the core knows of a network: two functions."""

from collections.abc import Callable
from typing import Any, NamedTuple

from jaxtyping import Array, Key, PyTree


class Model(NamedTuple):
    """A network as a pair of pure functions.

    `init(key, example)` draws one set of weights; `example` is a batch of inputs `(rows, ...)`, for
    networks that learn their input size from data. `apply(weights, x)` maps a batch of inputs
    `(rows, ...)` to outputs `(rows, ...)`.
    """

    init: Callable[[Key[Array, ""], Any], PyTree]
    apply: Callable[[PyTree, Any], Array]
