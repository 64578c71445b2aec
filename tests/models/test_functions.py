import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.models.functions import from_functions


def line(weights, x):
    return x @ weights["slope"]


def draw(key, rows=2):
    return {"slope": jax.random.normal(key, (rows, 1))}


def test_init_of_key_needs_no_example():
    network = from_functions(draw, line)
    assert network.init(jax.random.key(0), None)["slope"].shape == (2, 1)
    assert network.init(jax.random.key(0))["slope"].shape == (2, 1)


@pytest.mark.parametrize(
    "init",
    [
        lambda key, x: draw(key, x.shape[1]),
        lambda key, example=None: draw(key, 3 if example is None else example.shape[1]),
        lambda *args: draw(args[0], args[1].shape[1]),
        jax.jit(lambda key, x: draw(key, x.shape[1])),
        functools.partial(lambda scale, key, x: draw(key, x.shape[1]), 1.0),
    ],
    ids=["required", "named", "rest", "jit", "partial"],
)
def test_init_receives_the_example_it_asks_for(init):
    weights = from_functions(init, line).init(jax.random.key(0), jnp.ones((5, 4)))
    assert weights["slope"].shape == (4, 1)


def test_other_optional_arguments_keep_their_defaults():
    weights = from_functions(draw, line).init(jax.random.key(0), jnp.ones((5, 4)))
    assert weights["slope"].shape == (2, 1)


@pytest.mark.parametrize(
    "init",
    [lambda: None, lambda key, example, more: None, lambda *, key: None],
    ids=["nothing", "three", "keyword only"],
)
def test_other_signatures_are_refused(init):
    with pytest.raises(TypeError, match=r"init\(key\) or init\(key, example\), but it takes \("):
        from_functions(init, line)


def test_flat_outputs_stay_flat():
    network = from_functions(draw, lambda weights, x: (x @ weights["slope"])[:, 0])
    assert network.apply(network.init(jax.random.key(0)), jnp.ones((5, 2))).shape == (5,)


def test_numpy_weights_become_jax_arrays():
    network = from_functions(lambda key: {"slope": np.ones((2, 1), np.float32)}, line)
    assert isinstance(network.init(jax.random.key(0))["slope"], jax.Array)


@pytest.mark.parametrize(
    ("leaf", "description"),
    [
        (jnp.arange(3), r"an array of type int32 and shape \(3,\)"),
        (1.0, "a float"),
        (3, "an int"),
    ],
)
def test_weights_that_do_not_add_are_named(leaf, description):
    network = from_functions(lambda key: {"slope": jnp.ones(2), "step": leaf}, line)
    with pytest.raises(TypeError, match=rf"\['step'\] is {description}\.$"):
        network.init(jax.random.key(0), None)


def test_no_weights_are_refused():
    with pytest.raises(TypeError, match="must have weights"):
        from_functions(lambda key: {}, line).init(jax.random.key(0), None)


@pytest.mark.parametrize(
    ("apply", "description"),
    [
        (lambda weights, x: jnp.sum(x), r"an array of type float32 and shape \(\)\.$"),
        (lambda weights, x: x.T, r"an array of type float32 and shape \(2, 5\)\.$"),
        (lambda weights, x: jnp.argmax(x, axis=1), r"an array of type int32 and shape \(5,\)\.$"),
        (lambda weights, x: (x, x), r"a tuple\.$"),
    ],
    ids=["scalar", "transposed", "integer", "tuple"],
)
def test_outputs_that_are_no_rows_are_named(apply, description):
    network = from_functions(draw, apply)
    with pytest.raises(TypeError, match=rf"\(5, \.\.\.\), but this one returned {description}"):
        network.apply(network.init(jax.random.key(0)), jnp.ones((5, 2)))
