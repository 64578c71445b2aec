import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

from bmaml.models.equinox import from_equinox, from_equinox_function


class Lookup(eqx.Module):
    """Has an integer array, a static function made anew each time, and a matrix."""

    table: jax.Array
    matrix: jax.Array
    squash: object = eqx.field(static=True)

    def __init__(self, key):
        self.table = jnp.array([1, 0])
        self.matrix = jax.nn.initializers.orthogonal()(key, (2, 2))
        self.squash = lambda x: jnp.tanh(x)

    def __call__(self, x):
        return self.squash(self.matrix @ x[self.table])


def test_apply_equals_the_module_on_each_row():
    module = eqx.nn.MLP(2, 3, width_size=8, depth=2, key=jax.random.key(0))
    weights, _ = eqx.partition(module, eqx.is_inexact_array)
    x = jax.random.normal(jax.random.key(1), (5, 2))
    by_row = jnp.stack([module(row) for row in x])
    assert jnp.allclose(from_equinox(module).apply(weights, x), by_row, atol=1e-6)


def test_instance_is_redrawn_by_shuffling_its_entries():
    module = eqx.nn.Linear(6, 5, key=jax.random.key(0))
    weights = from_equinox(module).init(jax.random.key(1), None)
    assert not jnp.array_equal(weights.weight, module.weight)
    assert jnp.array_equal(jnp.sort(weights.weight.ravel()), jnp.sort(module.weight.ravel()))


def test_function_builds_each_particle_exactly():
    network = from_equinox_function(Lookup)
    weights = network.init(jax.random.key(3), None)
    assert jnp.array_equal(weights.matrix, Lookup(jax.random.key(3)).matrix)
    assert jnp.allclose(weights.matrix @ weights.matrix.T, jnp.eye(2), atol=1e-6)


def test_what_is_no_float_is_no_weight():
    network = from_equinox_function(Lookup)
    weights = network.init(jax.random.key(0), None)
    assert [leaf.shape for leaf in jax.tree.leaves(weights)] == [(2, 2)]
    assert network.apply(weights, jnp.ones((5, 2))).shape == (5, 2)


def test_weights_of_two_keys_add_despite_fresh_lambdas():
    network = from_equinox_function(Lookup)
    first, second = (network.init(jax.random.key(seed), None) for seed in (0, 1))
    total = jax.tree.map(jnp.add, first, second)
    assert jnp.array_equal(total.matrix, first.matrix + second.matrix)


def test_scalar_outputs_stay_flat():
    network = from_equinox(eqx.nn.MLP(2, "scalar", 8, 1, key=jax.random.key(0)))
    weights = network.init(jax.random.key(0), None)
    assert network.apply(weights, jnp.ones((5, 2))).shape == (5,)


def test_state_is_refused():
    with pytest.raises(TypeError, match="keeps state between calls"):
        from_equinox(eqx.nn.make_with_state(eqx.nn.BatchNorm)(2, "batch", mode="ema")[0])


def test_module_without_call_is_refused():
    class Box(eqx.Module):
        value: jax.Array

    with pytest.raises(TypeError, match="Box is no network"):
        from_equinox(Box(jnp.ones(2)))


def test_function_that_returns_no_module_is_refused():
    with pytest.raises(TypeError, match="returned an object of type int"):
        from_equinox_function(lambda key: 3)
