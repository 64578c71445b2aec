import jax
import jax.numpy as jnp
import pytest
from flax import nnx

from bmaml.models.flax_nnx import from_nnx, from_nnx_function


class WithConstants(nnx.Module):
    def __init__(self, rngs):
        self.rngs = rngs
        self.mask = jnp.array([1.0, 0.0])
        self.order = nnx.Param(jnp.array([1, 0]))
        self.linear = nnx.Linear(2, 3, rngs=rngs)

    def __call__(self, x):
        return self.linear(x[:, self.order[...]] * self.mask[None])


def with_dropout():
    rngs = nnx.Rngs(0)
    return nnx.Sequential(nnx.Linear(2, 8, rngs=rngs), nnx.Dropout(0.5, rngs=rngs))


def test_apply_equals_the_module():
    module = WithConstants(nnx.Rngs(0))
    weights = nnx.to_pure_dict(nnx.state(module.linear, nnx.Param))
    x = jax.random.normal(jax.random.key(1), (5, 2))
    assert jnp.array_equal(from_nnx(module).apply({"linear": weights}, x), module(x))


def test_weights_are_a_plain_dict_of_the_float_parameters():
    weights = from_nnx(WithConstants(nnx.Rngs(0))).init(jax.random.key(0), None)
    shapes = jax.tree.map(jnp.shape, weights)
    assert shapes == {"linear": {"kernel": (2, 3), "bias": (3,)}}


def test_instance_is_redrawn_by_shuffling_its_entries():
    module = nnx.Linear(6, 5, rngs=nnx.Rngs(0))
    weights = from_nnx(module).init(jax.random.key(1), None)
    assert not jnp.array_equal(weights["kernel"], module.kernel[...])
    assert jnp.array_equal(jnp.sort(weights["kernel"].ravel()), jnp.sort(module.kernel[...].ravel()))


def test_function_builds_each_particle_exactly():
    network = from_nnx_function(lambda rngs: WithConstants(rngs))
    weights = network.init(jax.random.key(3), None)
    module = WithConstants(nnx.Rngs(jax.random.key(3)))
    assert jnp.array_equal(weights["linear"]["kernel"], module.linear.kernel[...])


def test_statistics_are_refused_by_name():
    with pytest.raises(TypeError, match=r"not supported: mean \(BatchStat\), var \(BatchStat\)\.$"):
        from_nnx(nnx.BatchNorm(3, rngs=nnx.Rngs(0)))


@pytest.mark.parametrize("compiled", [False, True])
def test_random_layers_in_training_are_refused(compiled):
    network = from_nnx(with_dropout())
    weights = network.init(jax.random.key(0), None)
    apply = jax.jit(network.apply) if compiled else network.apply
    with pytest.raises(TypeError, match=r"from layers\.1\.rngs\.count.*call its `eval\(\)` first"):
        apply(weights, jnp.ones((5, 2)))


def test_random_layers_at_rest_are_accepted():
    module = with_dropout()
    module.eval()
    network = from_nnx(module)
    weights = network.init(jax.random.key(0), None)
    assert jax.jit(network.apply)(weights, jnp.ones((5, 2))).shape == (5, 8)


def test_the_module_of_the_user_is_left_alone():
    module = with_dropout()
    network = from_nnx(module)
    kernel = module.layers[0].kernel[...]
    weights = network.init(jax.random.key(0), None)
    with pytest.raises(TypeError):
        jax.jit(network.apply)(weights, jnp.ones((5, 2)))
    assert module.layers[0].kernel[...] is kernel
    assert module.layers[1].rngs.count[...] == 0


def test_function_that_returns_no_module_is_refused():
    with pytest.raises(TypeError, match="returned an object of type int"):
        from_nnx_function(lambda rngs: 3)
