"""Any network a user may bring, as the pair of functions the core knows."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

import equinox as eqx

from bmaml.models.equinox import from_equinox, from_equinox_function
from bmaml.models.functions import from_functions
from bmaml.models.model import Model


def as_model(thing: Any) -> Model:
    """Turn a network into a `Model`.

    | you have | `init` draws weights by |
    |---|---|
    | a `Model` | its own `init` |
    | a pair `(init, apply)` | the pair's `init(key)` or `init(key, example)` |
    | an Equinox or NNX module | shuffling the entries within each of its weight arrays |
    | a function `key ->` Equinox module | calling it with each particle's key |
    | a function `rngs ->` NNX module | calling it with `nnx.Rngs` of each particle's key |
    | a Linen module | `module.init(key, example)` |

    A function is told apart by the name of its parameter, `key` or `rngs`; a class or a
    `functools.partial` of one is a function too. Equinox modules are called on one example, all
    others on a batch.

    Args:
        thing: any of the above.

    Returns:
        The `Model`.

    >>> import jax
    >>> network = as_model(lambda key: eqx.nn.Linear(2, 1, key=key))
    >>> network.apply(network.init(jax.random.key(0), None), jax.numpy.ones((5, 2))).shape
    (5, 1)
    """
    if isinstance(thing, Model):
        return thing
    if isinstance(thing, tuple) and len(thing) == 2 and all(map(callable, thing)):
        return from_functions(*thing)
    if isinstance(thing, eqx.Module):
        return from_equinox(thing)
    if _is_flax(thing):
        return _from_flax(thing)
    if callable(thing):
        return _from_function(thing)
    raise _refusal(thing)


def _is_flax(thing: Any) -> bool:
    # By name, because Flax is optional and slow to import. A class counts as a builder function,
    # even when its metaclass comes from Flax.
    if isinstance(thing, type):
        return False
    return any(base.__module__.startswith("flax.") for base in type(thing).__mro__)


def _from_flax(thing: Any) -> Model:
    from flax import linen, nnx

    if isinstance(thing, nnx.Module):
        from bmaml.models.flax_nnx import from_nnx

        return from_nnx(thing)
    if isinstance(thing, linen.Module):
        from bmaml.models.flax_linen import from_linen

        return from_linen(thing)
    raise _refusal(thing)


def _from_function(build: Callable[..., Any]) -> Model:
    names = _parameter_names(build)
    if "key" in names and "rngs" not in names:
        return from_equinox_function(lambda key: build(key=key))
    if "rngs" in names and "key" not in names:
        from bmaml.models.flax_nnx import from_nnx_function

        return from_nnx_function(lambda rngs: build(rngs=rngs))
    raise TypeError(
        "A function that builds a network must have one parameter called `key` (for Equinox) or "
        f"`rngs` (for Flax NNX), but the parameters of this one are ({', '.join(names)})."
    )


def _parameter_names(build: Callable[..., Any]) -> list[str]:
    # A class is asked through its `__init__`, because the metaclass of NNX hides the signature.
    if isinstance(build, type):
        build = functools.partial(build)
    if isinstance(build, functools.partial) and isinstance(build.func, type):
        build = functools.partial(build.func.__init__, None, *build.args, **build.keywords)
    return list(inspect.signature(build).parameters)


def _refusal(thing: Any) -> TypeError:
    return TypeError(
        "A network must be a Model, a pair (init, apply), an Equinox module, a function key -> "
        "Equinox module, a Flax NNX module, a function rngs -> NNX module or a Flax Linen module, "
        f"but this is an object of type {type(thing).__name__}."
    )
