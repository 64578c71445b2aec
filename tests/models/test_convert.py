import functools
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from flax import linen, nnx

from bmaml.models import Model, as_model, mlp

ACCEPTED = ["Model", "(init, apply)", "Equinox module", "key ->", "NNX module", "rngs ->", "Linen"]


class NnxNetwork(nnx.Module):
    def __init__(self, rngs):
        self.linear = nnx.Linear(2, 3, rngs=rngs)

    def __call__(self, x):
        return self.linear(x)


def test_a_model_is_returned_as_it_is():
    model = mlp(1, 1)
    assert as_model(model) is model


@pytest.mark.parametrize(
    "thing",
    [
        (lambda key: jax.random.normal(key, (2, 3)), lambda weights, x: x @ weights),
        eqx.nn.Linear(2, 3, key=jax.random.key(0)),
        lambda key: eqx.nn.Linear(2, 3, key=key),
        functools.partial(eqx.nn.Linear, 2, 3),
        nnx.Linear(2, 3, rngs=nnx.Rngs(0)),
        lambda rngs: nnx.Linear(2, 3, rngs=rngs),
        functools.partial(nnx.Linear, 2, 3),
        NnxNetwork,
        linen.Dense(3),
    ],
    ids=[
        "pair",
        "equinox module",
        "equinox function",
        "equinox partial",
        "nnx module",
        "nnx function",
        "nnx partial",
        "nnx class",
        "linen module",
    ],
)
def test_accepts(thing):
    model, x = as_model(thing), jnp.ones((5, 2))
    assert isinstance(model, Model)
    assert model.apply(model.init(jax.random.key(0), x), x).shape == (5, 3)


def test_functions_build_particles_with_their_key_and_instances_are_shuffled():
    key = jax.random.key(5)
    built = as_model(lambda key: eqx.nn.Linear(2, 3, key=key)).init(key, None)
    shuffled = as_model(eqx.nn.Linear(2, 3, key=key)).init(key, None)
    original = eqx.nn.Linear(2, 3, key=key).weight
    assert jnp.array_equal(built.weight, original)
    assert not jnp.array_equal(shuffled.weight, original)


@pytest.mark.parametrize(
    "thing",
    [3, "mlp", None, (mlp,), (1, 2), {"init": mlp}, nnx.Rngs(0)],
    ids=lambda thing: type(thing).__name__,
)
def test_anything_else_is_told_what_is_accepted(thing):
    with pytest.raises(TypeError) as error:
        as_model(thing)
    message = str(error.value)
    assert all(name in message for name in ACCEPTED)
    assert type(thing).__name__ in message
    assert message.endswith(".")
    assert "\n" not in message


@pytest.mark.parametrize(
    "build", [lambda k: k, lambda: None, lambda key, rngs: None, jnp.tanh], ids=range(4)
)
def test_functions_that_name_neither_or_both_are_refused(build):
    with pytest.raises(TypeError, match=r"one parameter called `key` .* or `rngs`"):
        as_model(build)


def test_works_without_flax(monkeypatch):
    for name in ("flax", "bmaml.models.flax_nnx", "bmaml.models.flax_linen"):
        monkeypatch.setitem(sys.modules, name, None)
    as_model(lambda key: eqx.nn.Linear(2, 3, key=key))
    as_model(eqx.nn.Linear(2, 3, key=jax.random.key(0)))
    as_model((lambda key: jnp.ones(2), lambda weights, x: x * weights))
    with pytest.raises(TypeError, match="A network must be"):
        as_model(3)
