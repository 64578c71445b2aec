import jax
import jax.numpy as jnp
import pytest
from flax import linen

from bmaml.models.flax_linen import from_linen


class WithStatistics(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.BatchNorm(use_running_average=True)(linen.Dense(3)(x))


def test_init_and_apply_are_the_module_s():
    module, x = linen.Dense(3), jax.random.normal(jax.random.key(1), (5, 2))
    network = from_linen(module)
    weights = network.init(jax.random.key(0), x)
    variables = module.init(jax.random.key(0), x)
    assert jax.tree.map(jnp.shape, weights) == {"kernel": (2, 3), "bias": (3,)}
    assert jnp.array_equal(network.apply(weights, x), module.apply(variables, x))


def test_input_size_comes_from_the_example():
    weights = from_linen(linen.Dense(3)).init(jax.random.key(0), jnp.ones((5, 7)))
    assert weights["kernel"].shape == (7, 3)


def test_missing_example_is_asked_for():
    with pytest.raises(ValueError, match=r"Dense learns .* call init\(key, example\)"):
        from_linen(linen.Dense(3)).init(jax.random.key(0), None)


def test_partitioning_metadata_is_unwrapped():
    kernel_init = linen.with_partitioning(jax.nn.initializers.normal(), ("in", "out"))
    network = from_linen(linen.Dense(3, kernel_init=kernel_init))
    weights = network.init(jax.random.key(0), jnp.ones((5, 2)))
    assert isinstance(weights["kernel"], jax.Array)
    assert network.apply(weights, jnp.ones((5, 2))).shape == (5, 3)


def test_other_collections_are_refused_by_name():
    with pytest.raises(TypeError, match=r"not supported: batch_stats\.$"):
        from_linen(WithStatistics()).init(jax.random.key(0), jnp.ones((5, 2)))
