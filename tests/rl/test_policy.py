"""The policy is the paper's, or one around any network."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.rl.policy import gaussian_policy


def test_the_default_is_two_layers_of_100_with_unit_deviation():
    weights = gaussian_policy(2).init(jax.random.key(0), jnp.zeros((1, 4)))
    assert [layer.weight.shape for layer in weights.network] == [(4, 100), (100, 100), (100, 2)]
    np.testing.assert_array_equal(weights.log_std, [0.0, 0.0])


def test_any_network_will_do():
    policy = gaussian_policy(1, network=(lambda key, x: jnp.ones((3, 1)), lambda w, x: x @ w))
    weights = policy.init(jax.random.key(0), jnp.zeros((1, 3)))
    np.testing.assert_allclose(policy.apply(weights, jnp.ones((2, 3))).mean, [[3.0], [3.0]])


def test_the_deviation_has_a_floor():
    policy = gaussian_policy(1, hidden=())
    weights = policy.init(jax.random.key(0), jnp.zeros((1, 2)))._replace(log_std=jnp.array([-1e9]))
    density = policy.apply(weights, jnp.ones((1, 2))).log_density(jnp.ones((1, 1)))
    assert np.all(np.isfinite(density))


def test_sampling_is_reparametrised():
    policy = gaussian_policy(2, hidden=())
    weights = policy.init(jax.random.key(0), jnp.zeros((1, 2)))
    gaussian = policy.apply(weights, jnp.ones((3, 2)))
    np.testing.assert_array_equal(gaussian.sample(jnp.zeros((3, 2))), gaussian.mean)


@pytest.mark.parametrize("hidden", [(), (5,)])
def test_a_particle_is_a_tree_that_stacks(hidden):
    policy = gaussian_policy(2, hidden=hidden)
    keys = jax.random.split(jax.random.key(0), 3)
    stacked = jax.vmap(lambda key: policy.init(key, jnp.zeros((1, 2))))(keys)
    assert all(leaf.shape[0] == 3 for leaf in jax.tree.leaves(stacked))
