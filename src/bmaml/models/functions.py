"""A network written as two plain functions."""

import inspect
from collections.abc import Callable
from inspect import Parameter
from typing import Any

from jaxtyping import Array, Key, PyTree

from bmaml.models.check import checked
from bmaml.models.model import Model


def from_functions(init: Callable[..., PyTree], apply: Callable[[PyTree, Any], Array]) -> Model:
    """A `Model` from `init(key)` or `init(key, example)` and `apply(weights, x)`.

    The example is passed to an `init` that asks for it: with a second argument that is required or
    called `example`, or with `*args`. Other optional arguments keep their defaults.

    Args:
        init: draws the weights, any pytree of floating-point arrays.
        apply: maps the weights and a batch `(rows, ...)` to outputs `(rows, ...)`.

    Returns:
        The `Model`.

    >>> import jax
    >>> line = from_functions(
    ...     lambda key: {"slope": jax.random.normal(key, (1, 1))},
    ...     lambda weights, x: x @ weights["slope"],
    ... )
    >>> line.apply(line.init(jax.random.key(0), None), jax.numpy.ones((5, 1))).shape
    (5, 1)
    """
    wants_example = _wants_example(init)

    def draw(key: Key[Array, ""], example: Any) -> PyTree:
        return init(key, example) if wants_example else init(key)

    return checked(Model(draw, apply))


def _wants_example(init: Callable[..., Any]) -> bool:
    parameters = inspect.signature(init).parameters.values()
    positional = [
        parameter
        for parameter in parameters
        if parameter.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    ]
    required = [parameter for parameter in positional if parameter.default is Parameter.empty]
    has_rest = any(parameter.kind is Parameter.VAR_POSITIONAL for parameter in parameters)
    needs_keyword = any(
        parameter.kind is Parameter.KEYWORD_ONLY and parameter.default is Parameter.empty
        for parameter in parameters
    )
    if len(required) > 2 or needs_keyword or not (positional or has_rest):
        raise TypeError(
            f"A network's init must be callable as init(key) or init(key, example), but it takes "
            f"{inspect.signature(init)}."
        )
    asks_by_name = len(positional) > 1 and positional[1].name == "example"
    return has_rest or len(required) == 2 or asks_by_name
