"""What every network must do, however it was written."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from flax import linen, nnx

from bmaml.models import as_model, mlp

ROWS, INPUTS, OUTPUTS, PARTICLES = 5, 2, 3, 4


class LinenNetwork(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(OUTPUTS)(jnp.tanh(linen.Dense(8)(x)))


class NnxNetwork(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(INPUTS, 8, rngs=rngs)
        self.last = nnx.Linear(8, OUTPUTS, rngs=rngs)

    def __call__(self, x):
        return self.last(jnp.tanh(self.first(x)))


def equinox_network(key):
    return eqx.nn.MLP(INPUTS, OUTPUTS, width_size=8, depth=1, activation=jnp.tanh, key=key)


def plain_init(key):
    first, last = jax.random.split(key)
    return {
        "first": jax.random.normal(first, (INPUTS, 8)),
        "last": jax.random.normal(last, (8, OUTPUTS)),
    }


def plain_apply(weights, x):
    return jnp.tanh(x @ weights["first"]) @ weights["last"]


NETWORKS = {
    "mlp": lambda: mlp(INPUTS, OUTPUTS, hidden=(8, 8), activation=jnp.tanh),
    "pair": lambda: (plain_init, plain_apply),
    "equinox instance": lambda: equinox_network(jax.random.key(0)),
    "equinox function": lambda: equinox_network,
    "nnx instance": lambda: NnxNetwork(nnx.Rngs(0)),
    "nnx function": lambda: NnxNetwork,
    "linen": lambda: LinenNetwork(),
}


@pytest.fixture(scope="module", params=NETWORKS)
def model(request):
    return as_model(NETWORKS[request.param]())


@pytest.fixture(scope="module")
def x():
    return jax.random.normal(jax.random.key(7), (ROWS, INPUTS))


@pytest.fixture(scope="module")
def particles(model, x):
    keys = jax.random.split(jax.random.key(1), PARTICLES)
    return jax.vmap(lambda key: model.init(key, x))(keys)


def loss(model, weights, x):
    return jnp.mean(model.apply(weights, x) ** 2)


def test_maps_rows_to_rows(model, x):
    outputs = model.apply(model.init(jax.random.key(0), x), x)
    assert outputs.shape == (ROWS, OUTPUTS)
    assert jnp.issubdtype(outputs.dtype, jnp.floating)


def test_rows_do_not_interact(model, x):
    weights = model.init(jax.random.key(0), x)
    alone = jnp.concatenate([model.apply(weights, row[None]) for row in x])
    assert jnp.allclose(model.apply(weights, x), alone, atol=1e-5)


def test_weights_are_inexact_arrays(model, x):
    leaves = jax.tree.leaves(model.init(jax.random.key(0), x))
    assert leaves
    assert all(jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in leaves)


def test_same_key_same_weights(model, x):
    first, second = (model.init(jax.random.key(3), x) for _ in range(2))
    # Mapping over both also shows that separate calls give one tree structure.
    assert all(jax.tree.leaves(jax.tree.map(jnp.array_equal, first, second)))


def test_particles_differ(model, particles, x):
    outputs = jax.vmap(model.apply, in_axes=(0, None))(particles, x)
    assert outputs.shape == (PARTICLES, ROWS, OUTPUTS)
    for i in range(PARTICLES):
        for j in range(i):
            assert not jnp.allclose(outputs[i], outputs[j], atol=1e-3)


def test_vmap_init_equals_init(model, particles, x):
    key = jax.random.split(jax.random.key(1), PARTICLES)[2]
    alone = model.init(key, x)
    stacked = jax.tree.map(lambda leaf: leaf[2], particles)
    assert all(jax.tree.leaves(jax.tree.map(jnp.allclose, alone, stacked)))


def test_compiles(model, x):
    weights = jax.jit(model.init)(jax.random.key(0), x)
    assert jnp.allclose(jax.jit(model.apply)(weights, x), model.apply(weights, x), atol=1e-5)


def test_gradient_of_each_particle_is_its_own(model, particles, x):
    gradients = jax.vmap(jax.grad(lambda weights: loss(model, weights, x)))(particles)
    first = jax.tree.map(lambda leaf: leaf[0], particles)
    alone = jax.grad(lambda weights: loss(model, weights, x))(first)
    close = jax.tree.map(lambda a, b: jnp.allclose(a[0], b, atol=1e-5), gradients, alone)
    assert all(jax.tree.leaves(close))
    assert all(jnp.any(leaf != 0) for leaf in jax.tree.leaves(gradients))


def test_gradient_flows_through_an_update(model, x):
    weights = model.init(jax.random.key(0), x)

    def after_a_step(weights):
        gradient = jax.grad(lambda w: loss(model, w, x))(weights)
        return loss(model, jax.tree.map(lambda w, g: w - 0.1 * g, weights, gradient), x)

    direction = jax.tree.map(jnp.ones_like, weights)
    value, slope = jax.jvp(after_a_step, (weights,), (direction,))
    gradient = jax.jit(jax.grad(after_a_step))(weights)
    total = sum(jnp.sum(leaf) for leaf in jax.tree.leaves(gradient))
    assert value < loss(model, weights, x)
    assert jnp.allclose(total, slope, rtol=1e-3)
