"""Equinox modules as networks: called on one example, batched here."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Key, PyTree

from bmaml.models.check import checked
from bmaml.models.model import Model
from bmaml.models.redraw import shuffle


def from_equinox(module: eqx.Module) -> Model:
    """A `Model` from an Equinox module that maps one example to one output.

    Its weights are the module's floating-point arrays; all else is fixed. `init` shuffles the
    entries within each weight array (see `bmaml.models.redraw.shuffle` for its limits).

    Args:
        module: the module; it is `vmap`ped over rows.

    Returns:
        The `Model`; its `init` needs no example.

    >>> network = from_equinox(eqx.nn.MLP(2, 1, width_size=8, depth=1, key=jax.random.key(0)))
    >>> weights = network.init(jax.random.key(1), None)
    >>> network.apply(weights, jax.numpy.ones((5, 2))).shape
    (5, 1)
    """
    weights, fixed = _split(module)

    def init(key: Key[Array, ""], example: Any) -> PyTree:
        del example  # The module's sizes are known.
        return shuffle(key, weights)

    return checked(Model(init, _apply_with(fixed)))


def from_equinox_function(build: Callable[[Key[Array, ""]], eqx.Module]) -> Model:
    """A `Model` from a function `key -> Equinox module`; `init` builds a new module with each key.

    What is not a weight (integer arrays, activations, sizes) is taken from one module built here
    and shared by all particles.

    Args:
        build: makes a module from a key.

    Returns:
        The `Model`; its `init` needs no example.

    >>> network = from_equinox_function(lambda key: eqx.nn.Linear(2, 1, key=key))
    >>> weights = network.init(jax.random.key(1), None)
    >>> network.apply(weights, jax.numpy.ones((5, 2))).shape
    (5, 1)
    """
    first, fixed = _split(_build(build, jax.random.key(0)))
    structure = jax.tree.structure(first)

    def init(key: Key[Array, ""], example: Any) -> PyTree:
        del example  # The module's sizes are known.
        weights, _ = _split(_build(build, key))
        # A function made while building (a lambda as a static field) differs from call to call, and
        # two sets of weights could then not be added; one structure serves all.
        return jax.tree.unflatten(structure, jax.tree.leaves(weights))

    return checked(Model(init, _apply_with(fixed)))


def _build(build: Callable[[Key[Array, ""]], eqx.Module], key: Key[Array, ""]) -> eqx.Module:
    module = build(key)
    if not isinstance(module, eqx.Module):
        raise TypeError(
            "A function of `key` must return an Equinox module, but this one returned an object of "
            f"type {type(module).__name__}."
        )
    return module


def _split(module: eqx.Module) -> tuple[PyTree, PyTree]:
    if not callable(module):
        raise TypeError(
            f"The Equinox module {type(module).__name__} is no network: give it a `__call__` that "
            "maps one example to one output."
        )
    nodes = jax.tree.leaves(module, is_leaf=_is_state)
    if any(map(_is_state, nodes)):
        raise TypeError(
            f"The Equinox module {type(module).__name__} keeps state between calls (as BatchNorm "
            "does), which is not supported: use a layer without state, such as LayerNorm."
        )
    return eqx.partition(module, eqx.is_inexact_array)


def _is_state(node: Any) -> bool:
    return isinstance(node, eqx.nn.StateIndex)


def _apply_with(fixed: PyTree) -> Callable[[PyTree, Any], Array]:
    def apply(weights: PyTree, x: Any) -> Array:
        return jax.vmap(eqx.combine(weights, fixed))(x)

    return apply
