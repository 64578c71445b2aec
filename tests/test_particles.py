import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml import particles as sets


def two_leaf_set(size=4, seed=0, spread=1.0, offset=0.0):
    first, second = jax.random.split(jax.random.key(seed))
    return {
        "a": offset + spread * jax.random.normal(first, (size, 3, 2)),
        "b": offset + spread * jax.random.normal(second, (size,)),
    }


def flat(particles):
    return np.concatenate(
        [
            np.asarray(leaf, np.float64).reshape(leaf.shape[0], -1)
            for leaf in jax.tree.leaves(particles)
        ],
        axis=1,
    )


def test_squared_distances_equal_the_definition():
    particles = two_leaf_set()
    rows = flat(particles)
    expected = np.sum((rows[:, None] - rows[None]) ** 2, axis=-1)
    np.testing.assert_allclose(sets.squared_distances(particles), expected, rtol=1e-5, atol=1e-6)


def test_squared_distances_keep_their_precision_far_from_zero():
    particles = two_leaf_set(spread=1e-2, offset=100.0)
    rows = flat(particles)
    expected = np.sum((rows[:, None] - rows[None]) ** 2, axis=-1)
    np.testing.assert_allclose(sets.squared_distances(particles), expected, rtol=1e-2, atol=1e-7)


def test_coincident_particles_have_zero_distance_and_finite_gradient():
    particles = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), two_leaf_set())
    assert np.all(np.asarray(sets.squared_distances(particles)) < 1e-10)
    gradient = jax.grad(lambda tree: jnp.sum(sets.squared_distances(tree)))(particles)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


def test_mix_scale_and_inner_products_act_on_rows():
    particles = two_leaf_set()
    weights = jax.random.normal(jax.random.key(1), (4, 4))
    np.testing.assert_allclose(
        flat(sets.mix(weights, particles)),
        np.asarray(weights) @ flat(particles),
        rtol=1e-4,
        atol=1e-5,
    )
    factors = jnp.arange(4.0)
    np.testing.assert_allclose(
        flat(sets.scale(factors, particles)), np.arange(4.0)[:, None] * flat(particles), rtol=1e-6
    )
    np.testing.assert_allclose(
        sets.inner_products(particles, particles), np.sum(flat(particles) ** 2, axis=1), rtol=1e-5
    )


def test_share_batch_axes_changes_nothing_but_the_batching():
    value = jnp.arange(4.0).reshape(2, 2)
    reference = jnp.array([[1.0, 2.0], [-1.0, jnp.nan], [0.0, 0.0]])
    batched = jax.vmap(lambda one: sets.share_batch_axes(value, one))(reference)
    np.testing.assert_array_equal(batched, np.broadcast_to(value, (3, 2, 2)))


def test_particles_differ_and_an_empty_set_is_refused():
    particles = sets.make(lambda key: jax.random.normal(key, (2,)), jax.random.key(0), 3)
    assert sets.count(particles) == 3
    assert len(np.unique(np.asarray(particles))) == 6
    with pytest.raises(ValueError, match="at least one"):
        sets.make(lambda key: jax.random.normal(key), jax.random.key(0), 0)
