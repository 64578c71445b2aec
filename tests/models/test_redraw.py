import jax
import jax.numpy as jnp

from bmaml.models.redraw import shuffle


def weights():
    kernel, stack = jax.random.split(jax.random.key(0))
    return {
        "kernel": jax.random.normal(kernel, (6, 5)),
        "stack": (jax.random.normal(stack, (2, 3, 4)), None),
        "bias": jnp.zeros(5),
        "scale": jnp.ones((1, 5)),
        "temperature": jnp.array(0.3),
    }


def test_keeps_structure_shapes_and_entries():
    before, after = weights(), shuffle(jax.random.key(1), weights())
    assert jax.tree.structure(before) == jax.tree.structure(after)
    for old, new in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert old.shape == new.shape
        assert jnp.array_equal(jnp.sort(old.ravel()), jnp.sort(new.ravel()))


def test_moves_single_entries_not_rows():
    before = jnp.arange(30.0).reshape(6, 5)
    after = shuffle(jax.random.key(1), before)
    assert not jnp.array_equal(jnp.sort(after, axis=1)[:, 0] % 5, jnp.zeros(6))


def test_constants_stay():
    after = shuffle(jax.random.key(1), weights())
    assert jnp.array_equal(after["bias"], jnp.zeros(5))
    assert jnp.array_equal(after["scale"], jnp.ones((1, 5)))
    assert after["temperature"] == weights()["temperature"]


def test_arrays_of_one_size_are_shuffled_independently():
    entries = jnp.arange(50.0)
    after = shuffle(jax.random.key(1), {"a": entries, "b": entries})
    assert not jnp.array_equal(after["a"], after["b"])


def test_every_entry_reaches_every_place():
    keys = jax.random.split(jax.random.key(1), 4000)
    draws = jax.vmap(lambda key: shuffle(key, jnp.arange(4)))(keys)
    frequency = jnp.mean(jax.nn.one_hot(draws, 4), axis=0)
    assert jnp.allclose(frequency, 0.25, atol=0.03)
