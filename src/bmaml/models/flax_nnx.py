"""Flax NNX modules as networks: called on the batch."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Key, PyTree

from bmaml.models.check import checked
from bmaml.models.model import Model
from bmaml.models.redraw import shuffle


def from_nnx(module: nnx.Module) -> Model:
    """A `Model` from a Flax NNX module.

    Its weights are the floating-point `nnx.Param`s, as a nested dict; all else is fixed, and the
    module itself is never changed. `init` shuffles the entries within each weight array (see
    `bmaml.models.redraw.shuffle` for its limits).

    Args:
        module: maps a batch `(rows, ...)` to outputs `(rows, ...)`. Statistics (BatchNorm) and
            random layers in training mode (Dropout) are refused.

    Returns:
        The `Model`; its `init` needs no example.

    >>> network = from_nnx(nnx.Linear(2, 1, rngs=nnx.Rngs(0)))
    >>> weights = network.init(jax.random.key(1), None)
    >>> network.apply(weights, jnp.ones((5, 2))).shape
    (5, 1)
    """
    graph, weights, fixed = _split(module)

    def init(key: Key[Array, ""], example: Any) -> PyTree:
        del example  # The module's sizes are known.
        return shuffle(key, weights)

    return checked(Model(init, _apply_with(graph, fixed)))


def from_nnx_function(build: Callable[[nnx.Rngs], nnx.Module]) -> Model:
    """A `Model` from a function `rngs -> NNX module`; `init` builds a new module with each key.

    What is not a weight (constant arrays, activations, sizes) is taken from one module built here
    and shared by all particles.

    Args:
        build: makes a module from an `nnx.Rngs`.

    Returns:
        The `Model`; its `init` needs no example.

    >>> network = from_nnx_function(lambda rngs: nnx.Linear(2, 1, rngs=rngs))
    >>> weights = network.init(jax.random.key(1), None)
    >>> network.apply(weights, jnp.ones((5, 2))).shape
    (5, 1)
    """
    graph, _, fixed = _split(_build(build, jax.random.key(0)))

    def init(key: Key[Array, ""], example: Any) -> PyTree:
        del example  # The module's sizes are known.
        _, weights, _ = _split(_build(build, key))
        return weights

    return checked(Model(init, _apply_with(graph, fixed)))


def _build(build: Callable[[nnx.Rngs], nnx.Module], key: Key[Array, ""]) -> nnx.Module:
    module = build(nnx.Rngs(key))
    if not isinstance(module, nnx.Module):
        raise TypeError(
            "A function of `rngs` must return a Flax NNX module, but this one returned an object "
            f"of type {type(module).__name__}."
        )
    return module


def _split(module: nnx.Module) -> tuple[Any, PyTree, PyTree]:
    graph, weights, fixed = nnx.split(module, _is_weight, ...)
    state = {
        f"{'.'.join(map(str, path))} ({type(value).__name__})"
        for path, value in nnx.to_flat_state(fixed)
        if isinstance(value, nnx.Variable) and not isinstance(value, (nnx.Param, nnx.RngState))
    }
    if state:
        raise TypeError(
            f"The NNX module {type(module).__name__} keeps state besides its parameters, which is "
            f"not supported: {', '.join(sorted(state))}."
        )
    # Plain dicts: `nnx.State` shares its variables with the module, so that calling a merged copy
    # would write into the user's module, tracers included.
    return graph, nnx.to_pure_dict(weights), nnx.to_pure_dict(fixed)


def _is_weight(path: Any, value: Any) -> bool:
    del path
    return isinstance(value, nnx.Param) and jnp.issubdtype(value.dtype, jnp.inexact)


def _apply_with(graph: Any, fixed: PyTree) -> Callable[[PyTree, Any], Array]:
    def apply(weights: PyTree, x: Any) -> Array:
        module = nnx.merge(graph, weights, fixed)
        before = _draw_counts(module)
        outputs = module(x)
        # The count of draws is lost with this copy of the module, so that every call would see the
        # same random numbers: refuse rather than mislead. Compared by identity, because counts are
        # abstract while tracing.
        for stream, count in _draw_counts(module).items():
            if count is not before[stream]:
                raise TypeError(
                    f"The NNX module {type(module).__name__} draws random numbers when called "
                    f"(from {stream}), which is not supported: call its `eval()` first."
                )
        return outputs

    return apply


def _draw_counts(module: nnx.Module) -> dict[str, Any]:
    counts = nnx.to_pure_dict(nnx.state(module, nnx.RngCount))
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): count
        for path, count in jax.tree.leaves_with_path(counts)
    }
