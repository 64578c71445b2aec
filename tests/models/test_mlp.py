import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.models import mlp


def test_a_weight_and_a_bias_per_layer():
    weights = mlp(2, 3, hidden=(8, 9)).init(jax.random.key(0), None)
    assert [layer.weight.shape for layer in weights] == [(2, 8), (8, 9), (9, 3)]
    assert [layer.bias.shape for layer in weights] == [(8,), (9,), (3,)]


def test_default_is_the_network_of_the_paper():
    weights = mlp(1, 1).init(jax.random.key(0), None)
    assert [layer.weight.shape for layer in weights] == [(1, 40), (40, 40), (40, 40), (40, 1)]


def test_equals_a_forward_pass_by_hand():
    network = mlp(2, 3, hidden=(8, 9))
    # Biases as large as the weights, so that a misplaced one shows.
    weights = jax.tree.map(
        lambda leaf: jax.random.normal(jax.random.key(leaf.size), leaf.shape),
        network.init(jax.random.key(0), None),
    )
    x = jax.random.normal(jax.random.key(1), (5, 2))

    hidden = np.asarray(x)
    for index, layer in enumerate(weights):
        hidden = np.dot(hidden, np.asarray(layer.weight)) + np.asarray(layer.bias)
        if index < 2:
            hidden = np.maximum(hidden, 0.0)

    assert np.allclose(network.apply(weights, x), hidden, atol=1e-5)


def test_without_hidden_layers_is_linear():
    network = mlp(2, 1, hidden=())
    weights = network.init(jax.random.key(0), None)
    x = jax.random.normal(jax.random.key(1), (5, 2))
    expected = x @ weights[0].weight + weights[0].bias[None, :]
    assert jnp.allclose(network.apply(weights, x), expected, atol=1e-6)


def test_activation_is_used():
    x = jnp.ones((5, 2))
    weights = mlp(2, 1).init(jax.random.key(0), None)
    rectified, smooth = mlp(2, 1), mlp(2, 1, activation=jnp.tanh)
    assert not jnp.allclose(rectified.apply(weights, x), smooth.apply(weights, x))


@pytest.mark.parametrize(
    ("initialisation", "variance"),
    [
        ("xavier", 2 / 500),
        ("xavier_uniform", 2 / 500),
        ("he", 2 / 300),
        (jax.nn.initializers.normal(0.5), 0.25),
    ],
)
def test_scale_of_initial_weights(initialisation, variance):
    # Glorot: 2 / (fan_in + fan_out); He: 2 / fan_in.
    network = mlp(300, 200, hidden=(), initialisation=initialisation)
    (layer,) = network.init(jax.random.key(0), None)
    assert jnp.allclose(jnp.var(layer.weight), variance, rtol=0.03)
    assert jnp.abs(jnp.mean(layer.weight)) < 3 * (variance / 60_000) ** 0.5


def test_biases_are_small_and_random():
    (layer,) = mlp(1, 5000, hidden=()).init(jax.random.key(0), None)
    assert jnp.allclose(jnp.std(layer.bias), 0.01, rtol=0.05)


def test_follows_the_precision_of_jax():
    with jax.enable_x64(True):
        network = mlp(2, 1)
        weights = network.init(jax.random.key(0), None)
        assert all(leaf.dtype == jnp.float64 for leaf in jax.tree.leaves(weights))
        assert network.apply(weights, np.ones((5, 2))).dtype == jnp.float64


def test_accepts_numpy_inputs_of_any_precision():
    network = mlp(2, 1)
    weights = network.init(jax.random.key(0), None)
    assert network.apply(weights, np.ones((5, 2), np.float64)).shape == (5, 1)


@pytest.mark.parametrize("shape", [(), (2,), (5, 3), (4, 5, 2)])
def test_wrong_input_shape_is_named(shape):
    network = mlp(2, 1)
    weights = network.init(jax.random.key(0), None)
    with pytest.raises(ValueError, match=r"expects inputs of shape \(rows, 2\), but got") as error:
        network.apply(weights, jnp.ones(shape))
    assert str(shape) in str(error.value)


@pytest.mark.parametrize("sizes", [(0, 1, (4,)), (1, 0, (4,)), (1, 1, (4, 0))])
def test_empty_layer_is_refused(sizes):
    with pytest.raises(ValueError, match="at least one unit"):
        mlp(*sizes)


def test_unknown_initialisation_lists_the_known():
    with pytest.raises(ValueError, match="'orthogonl': use one of xavier, xavier_uniform, he"):
        mlp(1, 1, initialisation="orthogonl")
