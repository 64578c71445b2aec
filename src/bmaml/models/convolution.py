"""3×3 convolution and 2×2 pooling whose gradients are fast on a CPU as well."""

from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Images = Float[Array, "rows height width channels"]
Maps = Float[Array, "rows height width filters"]
Kernel = Float[Array, "3 3 channels filters"]

LAYOUT = ("NHWC", "HWIO", "NHWC")

# Of maps with 64 filters, about half a megabyte, four times over: a core's second-level cache today.
PIXELS_IN_CACHE = 2048


@jax.custom_vjp
def convolve(x: Images, kernel: Kernel) -> Maps:
    r"""Convolution with a 3×3 kernel, zero outside of the image.

    $$y_{nhwf} = \sum_{ijc} x_{n,\,h+i-1,\,w+j-1,\,c}\; k_{ijcf}$$

    XLA's own gradient by the kernel is a convolution with a window as large as the image, which its CPU
    backend runs far slower than the products in `correlate`. `convolve` and `correlate` are each
    other's gradients, so gradients of any order stay fast; reverse mode only.

    Args:
        x: images, channels last.
        kernel: $k$.

    Returns:
        One map per filter, of the same height and width.
    """
    return _convolve(x, kernel)


@jax.custom_vjp
def correlate(x: Images, y: Maps) -> Kernel:
    r"""The gradient of `convolve` by its kernel, where `y` is the gradient by its output.

    $$k_{ijcf} = \sum_{nhw} x_{n,\,h+i-1,\,w+j-1,\,c}\; y_{nhwf}$$

    Args:
        x: images, channels last.
        y: maps of the same rows, height and width.

    Returns:
        $k$.
    """
    return _correlate(x, y)


@jax.custom_vjp
def pool(
    x: Images, sign: Float[Array, " channels"]
) -> Float[Array, "rows half_height half_width channels"]:
    """The maximum of every 2×2 square, or the minimum; an odd last row or column is left out.

    Equal pixels of a square, as on the empty background of a drawing, share its gradient.

    Args:
        x: images, channels last.
        sign: for each channel, 1 for the maximum and -1 for the minimum.

    Returns:
        Images of half the height and width.
    """
    squares = _squares(x) * sign[None, None, None, None, None, :]
    upper = jnp.maximum(squares[:, :, 0, :, 0], squares[:, :, 0, :, 1])
    lower = jnp.maximum(squares[:, :, 1, :, 0], squares[:, :, 1, :, 1])
    return jnp.maximum(upper, lower) * sign[None, None, None, :]


def _squares(x: Images) -> Float[Array, "rows half_height 2 half_width 2 channels"]:
    rows, height, width, channels = x.shape
    even = x[:, : height // 2 * 2, : width // 2 * 2]
    return even.reshape(rows, height // 2, 2, width // 2, 2, channels)


def _unpool(saved, gradient):
    x, extreme = saved
    winners = _squares(x) == extreme[:, :, None, :, None]
    ones = winners.astype(x.dtype)
    ties = ones[:, :, 0, :, 0] + ones[:, :, 0, :, 1] + ones[:, :, 1, :, 0] + ones[:, :, 1, :, 1]
    shared = jnp.where(winners, (gradient / ties)[:, :, None, :, None], 0)
    rows, height, width, channels = x.shape
    even = shared.reshape(rows, height // 2 * 2, width // 2 * 2, channels)
    return jnp.pad(even, ((0, 0), (0, height % 2), (0, width % 2), (0, 0))), None


def _pool_and_save(x, sign):
    extreme = pool(x, sign)
    return extreme, (x, extreme)


pool.defvjp(_pool_and_save, _unpool)


def _transposed(kernel: Kernel) -> Float[Array, "3 3 filters channels"]:
    return jnp.swapaxes(kernel[::-1, ::-1], 2, 3)


convolve.defvjp(
    lambda x, kernel: (convolve(x, kernel), (x, kernel)),
    lambda saved, y: (convolve(y, _transposed(saved[1])), correlate(saved[0], y)),
)
correlate.defvjp(
    lambda x, y: (correlate(x, y), (x, y)),
    lambda saved, kernel: (convolve(saved[1], _transposed(kernel)), convolve(saved[0], kernel)),
)


def _library(x: Images, kernel: Kernel) -> Maps:
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=LAYOUT)


@jax.custom_batching.custom_vmap
def _convolve(x, kernel):
    return _library(x, kernel)


@_convolve.def_vmap
def _convolve_many(size, batched, x, kernel):
    """One kernel: all images are one batch. A kernel each: on a CPU a loop; XLA has no fast way."""
    if not batched[1]:
        return _convolve(x.reshape(-1, *x.shape[2:]), kernel).reshape(*x.shape[:-1], -1), True
    return _each(_convolve, _library, size, batched, x, kernel), True


@jax.custom_batching.custom_vmap
def _correlate(x, y):
    return jax.lax.platform_dependent(x, y, cpu=_correlate_in_cache, default=_library_gradient)


@_correlate.def_vmap
def _correlate_many(size, batched, x, y):
    return _each(_correlate, _library_gradient, size, batched, x, y), True


def _each(loop_over, vmap_over, size, batched, *arguments):
    axes = tuple(0 if one else None for one in batched)

    def loop(*arguments):
        spread = [
            a if one else jnp.broadcast_to(a, (size, *a.shape))
            for a, one in zip(arguments, batched, strict=True)
        ]
        return jax.lax.map(lambda each: loop_over(*each), tuple(spread))

    return jax.lax.platform_dependent(*arguments, cpu=loop, default=jax.vmap(vmap_over, axes))


def _library_gradient(x: Images, y: Maps) -> Kernel:
    kernel = jax.ShapeDtypeStruct((3, 3, x.shape[-1], y.shape[-1]), x.dtype)
    return jax.linear_transpose(partial(_library, x), kernel)(y)[0]


def _correlate_in_cache(x: Images, y: Maps) -> Kernel:
    """A few rows at a time, so that they and their transposes stay in the cache."""
    rows, height, width, _ = x.shape
    few = min(rows, max(1, PIXELS_IN_CACHE // (height * width)))
    if few == rows:
        return _correlate_few(x, y)
    missing = -rows % few  # filled up with zeros, which add nothing
    x, y = (jnp.pad(each, ((0, missing), (0, 0), (0, 0), (0, 0))) for each in (x, y))
    chunks = tuple(each.reshape(-1, few, *each.shape[1:]) for each in (x, y))
    zero = jnp.zeros((3, 3, x.shape[-1], y.shape[-1]), x.dtype)
    return jax.lax.scan(lambda total, chunk: (total + _correlate_few(*chunk), None), zero, chunks)[0]


def _correlate_few(x: Images, y: Maps) -> Kernel:
    """A convolution with rows as channels, channels as rows, and the maps as the kernel."""
    kernel = jax.lax.conv_general_dilated(
        x.transpose(3, 1, 2, 0),
        y.transpose(1, 2, 0, 3),
        (1, 1),
        ((1, 1), (1, 1)),
        dimension_numbers=LAYOUT,
    )
    return kernel.transpose(1, 2, 0, 3)
