import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.models import convolution
from bmaml.models.convolution import convolve, correlate, pool

ROWS, HEIGHT, WIDTH, CHANNELS, FILTERS = 3, 5, 6, 2, 4


def draw(*shapes):
    random = np.random.default_rng(0)
    return [jnp.asarray(random.normal(size=shape)) for shape in shapes]


def reference(x, kernel):
    return jax.lax.conv_general_dilated(
        x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


def reference_pool(x):
    return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")


def close(a, b):
    jax.tree.map(lambda p, q: np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-9), a, b)


def curved(operation):
    return lambda *arguments: jnp.sum(jnp.tanh(operation(*arguments)) ** 3)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def images_and_kernel():
    return draw((ROWS, HEIGHT, WIDTH, CHANNELS), (3, 3, CHANNELS, FILTERS))


@pytest.mark.parametrize("pixels", [1, 2048])  # with and without a loop over rows
def test_convolution_and_its_gradients_equal_the_library(monkeypatch, pixels):
    monkeypatch.setattr(convolution, "PIXELS_IN_CACHE", pixels)
    x, kernel = images_and_kernel()
    close(convolve(x, kernel), reference(x, kernel))
    gradients = [jax.jit(jax.grad(curved(each), argnums=(0, 1))) for each in (convolve, reference)]
    close(*(gradient(x, kernel) for gradient in gradients))


def test_rows_that_do_not_fill_the_last_chunk(monkeypatch):
    monkeypatch.setattr(convolution, "PIXELS_IN_CACHE", 2 * HEIGHT * WIDTH)
    x, y = draw((ROWS, HEIGHT, WIDTH, CHANNELS), (ROWS, HEIGHT, WIDTH, FILTERS))
    expected = jax.vjp(lambda kernel: reference(x, kernel), jnp.zeros((3, 3, CHANNELS, FILTERS)))[1](y)
    close(correlate(x, y), expected[0])


def test_second_derivatives_equal_the_library():
    x, kernel = images_and_kernel()

    def second(operation):
        def slope(x, kernel):
            by_x, by_kernel = jax.grad(curved(operation), argnums=(0, 1))(x, kernel)
            return jnp.sum(jnp.sin(by_x)) + jnp.sum(jnp.sin(by_kernel))

        return jax.jit(jax.grad(slope, argnums=(0, 1)))(x, kernel)

    close(second(convolve), second(reference))


@pytest.mark.parametrize(("x_axis", "kernel_axis"), [(0, None), (None, 0), (0, 0)])
def test_batches_of_images_and_of_kernels(x_axis, kernel_axis):
    tasks = 4
    x, kernel = draw(
        ((tasks,) if x_axis == 0 else ()) + (ROWS, HEIGHT, WIDTH, CHANNELS),
        ((tasks,) if kernel_axis == 0 else ()) + (3, 3, CHANNELS, FILTERS),
    )

    def gradients(operation):
        axes = (x_axis, kernel_axis)
        outside = jax.grad(curved(jax.vmap(operation, axes)), argnums=(0, 1))
        inside = jax.vmap(jax.grad(curved(operation), argnums=(0, 1)), axes)
        return jax.jit(lambda x, kernel: (outside(x, kernel), inside(x, kernel)))(x, kernel)

    close(gradients(convolve), gradients(reference))


def test_one_kernel_for_many_tasks_is_one_convolution():
    x, kernel = draw((7, ROWS, HEIGHT, WIDTH, CHANNELS), (3, 3, CHANNELS, FILTERS))
    program = jax.jit(jax.vmap(convolve, (0, None))).lower(x, kernel).as_text()
    assert program.count("stablehlo.convolution") == 1
    assert f"tensor<{7 * ROWS}x{HEIGHT}x{WIDTH}x{FILTERS}xf64>" in program


@pytest.mark.parametrize("shape", [(2, 4, 4, 3), (2, 5, 7, 3), (2, 2, 3, 3)])
def test_pooling_equals_the_library(shape):
    (x,) = draw(shape)
    ones = jnp.ones(3)
    close(pool(x, ones), reference_pool(x))
    close(
        jax.jit(jax.grad(curved(lambda x: pool(x, ones))))(x),
        jax.jit(jax.grad(curved(reference_pool)))(x),
    )
    close(pool(x, -ones), -reference_pool(-x))


def test_pooling_twice_differentiated():
    (x,) = draw((2, 5, 4, 3))

    def second(operation):
        return jax.jit(jax.grad(lambda x: jnp.sum(jnp.sin(jax.grad(curved(operation))(x)))))(x)

    # XLA's pooling has no second derivative; a maximum over the same squares has.
    def squares(x):
        return jnp.max(x[:, :4].reshape(2, 2, 2, 2, 2, 3), axis=(2, 4))

    close(second(lambda x: pool(x, jnp.ones(3))), second(squares))


def test_equal_pixels_share_the_gradient():
    gradient = jax.grad(lambda x: jnp.sum(pool(x, jnp.ones(1))))(jnp.zeros((1, 2, 2, 1)))
    close(gradient, jnp.full((1, 2, 2, 1), 0.25))
