import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.models.conv import ConvFeatures, conv
from bmaml.models.mlp import mlp

# By name, because the function of the same name hides the module.
module = importlib.import_module("bmaml.models.conv")

NORMS = ("example", "task", "transductive", "none")


def images(rows, size=8, channels=2, seed=0):
    # Of the precision that JAX runs at.
    return jnp.asarray(np.random.default_rng(seed).normal(size=(rows, size, size, channels)), float)


def small(norm, size=8):
    extractor = ConvFeatures(blocks=2, filters=4, norm=norm, standardise=False)
    weights = jax.jit(extractor.init)(jax.random.key(1), images(2, size))
    # Scales of both signs, because pooling depends on the sign.
    random = np.random.default_rng(0)
    return extractor, jax.tree.map(
        lambda leaf: leaf + jnp.asarray(0.8 * random.normal(size=leaf.shape), leaf.dtype), weights
    )


def plain(norm, weights, x, statistics=None):
    """The network as the paper says it, with the library's convolution and pooling."""
    for index, block in enumerate(weights):
        x = jax.lax.conv_general_dilated(
            x, block.kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        if norm != "none":
            axes = (1, 2, 3) if norm == "example" else (0, 1, 2)
            mean, variance = jnp.mean(x, axes, keepdims=True), jnp.var(x, axes, keepdims=True)
            if statistics is not None:
                mean, variance = (each[None, None, None, :] for each in statistics[index])
            x = (x - mean) / jnp.sqrt(variance + 1e-5) * block.scale[None, None, None, :]
        x = jax.nn.relu(x + block.shift[None, None, None, :])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1)


@pytest.mark.parametrize(("size", "channels", "blocks", "features"), [(28, 1, 4, 64), (84, 3, 5, 256)])
def test_sizes_of_the_paper(size, channels, blocks, features):
    extractor = ConvFeatures()
    x = images(2, size, channels)
    weights = jax.eval_shape(extractor.init, jax.random.key(0), x)
    assert len(weights) == blocks
    assert weights[0].kernel.shape == (3, 3, channels, 64)
    assert jax.eval_shape(extractor.encode, weights, x)[0].shape == (2, features)
    assert extractor.size(size, size) == features


@pytest.mark.parametrize("norm", NORMS)
def test_equals_the_plain_network_in_values_and_gradients(norm):
    size = 7  # odd: pooling leaves a row and a column out
    with jax.enable_x64(True):
        extractor, weights = small(norm, size)
        x = images(3, size)

        def loss(encode):
            return lambda weights, x: jnp.sum(jnp.sin(encode(weights, x)))

        ours = loss(lambda weights, x: extractor.encode(weights, x)[0])
        theirs = loss(lambda weights, x: plain(norm, weights, x))
        a, b = (
            jax.jit(jax.value_and_grad(each, argnums=(0, 1)))(weights, x) for each in (ours, theirs)
        )
        jax.tree.map(lambda p, q: np.testing.assert_allclose(p, q, rtol=1e-7, atol=1e-8), a, b)


@pytest.mark.parametrize("norm", ["example", "none"])
def test_a_row_does_not_depend_on_the_others(norm):
    extractor, weights = small(norm)
    encode = jax.jit(extractor.encode)
    x = images(5)
    features, statistics = encode(weights, x)
    alone, _ = encode(weights, x[2:3])
    np.testing.assert_allclose(features[2:3], alone, rtol=1e-4, atol=1e-5)
    assert statistics == ()


@pytest.mark.parametrize("norm", ["task", "transductive"])
def test_statistics_are_of_the_first_rows_and_used_for_later_ones(norm):
    extractor, weights = small(norm)
    support, query = images(5), 3.0 + images(4, seed=1)
    encode = jax.jit(extractor.encode)
    features, statistics = encode(weights, support)
    again, same = encode(weights, support, statistics)
    np.testing.assert_allclose(features, again, rtol=1e-4, atol=1e-5)
    assert jax.tree.structure(same) == jax.tree.structure(statistics)
    assert [moments.mean.shape for moments in statistics] == [(4,), (4,)]

    together, _ = encode(weights, query, statistics)
    alone, _ = encode(weights, query[1:2], statistics)
    np.testing.assert_allclose(together[1:2], alone, rtol=1e-4, atol=1e-5)
    by_itself, _ = encode(weights, query)
    assert not np.allclose(together, by_itself, atol=1e-2)


@pytest.mark.parametrize("kept", [2**24, 1])
@pytest.mark.parametrize("rows", [4, 5])
def test_chunks_change_nothing(monkeypatch, rows, kept):
    extractor, weights = small("example")
    x = images(rows)

    def run():
        def loss(weights):
            features = jax.vmap(lambda x: extractor.encode(weights, x)[0])(jnp.stack([x, 2.0 * x]))
            return jnp.sum(jnp.sin(features))

        return jax.jit(jax.value_and_grad(loss))(weights)

    whole = run()
    monkeypatch.setattr(module, "CHUNK", 2 * 8 * 8 * 4)  # two rows of the first block
    monkeypatch.setattr(module, "KEPT", kept)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-4), run(), whole)


@pytest.mark.parametrize("norm", NORMS)
def test_gradient_is_finite_on_empty_images(norm):
    extractor, _ = small(norm)
    weights = extractor.init(jax.random.key(0), images(2))
    loss = jax.jit(jax.grad(lambda w: jnp.sum(extractor.encode(w, jnp.zeros((2, 8, 8, 2)))[0])))
    gradient = loss(weights)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))


def test_statistics_of_a_task_serve_each_block(monkeypatch):
    extractor, weights = small("task")
    _, statistics = extractor.encode(weights, images(3))
    whole, _ = extractor.encode(weights, images(5), statistics)
    monkeypatch.setattr(module, "CHUNK", 1)
    monkeypatch.setattr(module, "KEPT", 1)
    chunks, _ = extractor.encode(weights, images(5), statistics)
    np.testing.assert_allclose(chunks, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("chunk", "kept"), [(2**18, 2**24), (1, 2**24), (1, 1)])
def test_second_order_through_all_layers_matches_finite_differences(monkeypatch, chunk, kept):
    monkeypatch.setattr(module, "CHUNK", chunk)
    monkeypatch.setattr(module, "KEPT", kept)
    with jax.enable_x64(True):
        network = conv(ways=3, blocks=2, filters=3)
        x, y = images(2, size=4), jax.nn.one_hot(jnp.array([0, 2]), 3)
        weights = network.init(jax.random.key(0), x)

        def loss(weights):
            return -jnp.sum(y * jax.nn.log_softmax(network.apply(weights, x)))

        def after_a_step(weights):
            step = jax.grad(loss)(weights)
            return loss(jax.tree.map(lambda w, g: w - 0.1 * g, weights, step))

        leaves, structure = jax.tree.flatten(weights)
        random = np.random.default_rng(0)
        direction = jax.tree.unflatten(structure, [random.normal(size=w.shape) for w in leaves])
        along = jax.jit(
            lambda t: after_a_step(jax.tree.map(lambda w, d: w + t * d, weights, direction))
        )
        slope = jax.jit(jax.grad(along))(0.0)
        numeric = (along(1e-6) - along(-1e-6)) / 2e-6
        np.testing.assert_allclose(slope, numeric, rtol=1e-6)


def test_particles_with_their_own_networks():
    network = conv(ways=3, blocks=2, filters=4)
    x = images(2)
    weights = jax.vmap(lambda key: network.init(key, x))(jax.random.split(jax.random.key(0), 3))
    outputs = jax.jit(jax.vmap(network.apply, (0, None)))(weights, x)
    second = jax.jit(network.apply)(jax.tree.map(lambda leaf: leaf[1], weights), x)
    np.testing.assert_allclose(outputs[1], second, rtol=1e-4, atol=1e-5)


def test_a_linear_head_fits_the_features():
    extractor = ConvFeatures(filters=4)
    x = images(3)
    head = mlp(extractor.size(8, 8), 5, hidden=())
    weights = extractor.init(jax.random.key(0), x)
    features, _ = jax.eval_shape(extractor.encode, weights, x)
    assert jax.eval_shape(head.apply, head.init(jax.random.key(0), None), features).shape == (3, 5)


def test_settings_are_hashable_and_say_whether_transductive():
    assert len({ConvFeatures(), ConvFeatures(), ConvFeatures(norm="task")}) == 2
    assert [ConvFeatures(norm=norm).transductive for norm in NORMS] == [False, False, True, False]


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 1), (1, 2, 28, 28, 1)])
def test_wrong_rank_is_named(shape):
    with pytest.raises(ValueError, match=r"shape \(rows, height, width, channels\), not"):
        ConvFeatures().init(jax.random.key(0), jnp.zeros(shape))


@pytest.mark.parametrize(("blocks", "size"), [(4, 8), (None, 1)])
def test_images_too_small_for_the_blocks(blocks, size):
    with pytest.raises(ValueError, match="use fewer blocks or larger images"):
        ConvFeatures(blocks=blocks).init(jax.random.key(0), jnp.zeros((1, size, size, 1)))


@pytest.mark.parametrize("options", [{"blocks": 0}, {"filters": 0}])
def test_empty_network_is_refused(options):
    with pytest.raises(ValueError, match="at least one block and one filter"):
        ConvFeatures(**options)


def test_unknown_norm_lists_the_known():
    with pytest.raises(Exception, match=r"norm|batch"):
        ConvFeatures(norm="batch")  # pyright: ignore[reportArgumentType]


def test_a_network_that_is_adapted_whole_cannot_normalise_queries_by_the_support():
    with pytest.raises(ValueError, match="conv cannot normalise query images by those of the support"):
        conv(5, norm="task")


@pytest.mark.parametrize("filters", [4, 8])
def test_features_cannot_be_made_small_or_longer_by_their_number(filters):
    x = images(3)
    extractor = ConvFeatures(blocks=2, filters=filters)
    weights = jax.jit(extractor.init)(jax.random.key(0), x)
    smaller = tuple(block._replace(scale=0.1 * block.scale) for block in weights)
    for each in (weights, smaller):
        features, _ = jax.jit(extractor.encode)(each, x)
        np.testing.assert_allclose(jnp.mean(features, axis=1), jnp.zeros(3), atol=1e-5)
        np.testing.assert_allclose(jnp.sum(jnp.square(features), axis=1), jnp.full(3, 64.0), rtol=0.04)
    plain, _ = jax.jit(ConvFeatures(2, filters, standardise=False).encode)(smaller, x)
    assert np.all(np.std(plain, axis=1) < 0.2)
