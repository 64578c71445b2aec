"""One N-way K-shot task: drawn as row numbers, made whole on the device."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Integer, Key, UInt8, UInt32

from bmaml.tasks.distinct import distinct
from bmaml.tasks.task import Data, Task


class ImageClasses(NamedTuple):
    """Images sorted by class: class c has the rows `offsets[c]` to `offsets[c] + counts[c] - 1`."""

    pixels: UInt8[Array, "rows height width channels"]
    offsets: Int[Array, " classes"]
    counts: Int[Array, " classes"]


class EpisodeIndex(NamedTuple):
    """A task without its images.

    `support` and `query` are row numbers, a line for each class; query classes beyond those of
    `support` are unknown to the task. `rotation` counts quarter turns, where turned classes are
    classes of their own.
    """

    support: Integer[Array, "*tasks ways shots"]
    query: Integer[Array, "*tasks query_ways query_shots"]
    rotation: UInt8[Array, "*tasks query_ways"] | None


def draw_episodes(
    images: ImageClasses,
    key: Key[Array, ""],
    count: int,
    *,
    ways: int,
    shots: int,
    query_shots: int,
    unknown_ways: int = 0,
    rotations: bool = False,
) -> EpisodeIndex:
    """`count` tasks: different classes, and of each different images for support and query.

    Labels 0, 1, … are the order in which classes were drawn. With `rotations`, a class turned by a
    quarter is another class, so that a task may hold both. The last `unknown_ways` classes have
    query images only.
    """
    # For each task bits for the classes, then for the images of each. One call, not one for each
    # purpose: random numbers take XLA the longest of all this to compile.
    bits = jax.random.bits(key, (count, ways + unknown_ways, 1 + shots + query_shots), jnp.uint32)
    return jax.vmap(lambda one: _draw_episode(images, one, ways, shots, rotations))(bits)


def _draw_episode(
    images: ImageClasses,
    bits: UInt32[Array, "query_ways one_and_instances"],
    ways: int,
    shots: int,
    rotations: bool,
) -> EpisodeIndex:
    num_classes = images.offsets.shape[0]
    drawn = distinct(bits[:, 0], num_classes * (4 if rotations else 1))
    classes = drawn % num_classes
    instances = jax.vmap(distinct)(bits[:, 1:], images.counts[classes])
    rows = (images.offsets[classes][:, None] + instances).astype(_row_type(images.pixels.shape[0]))
    turns = (drawn // num_classes).astype(jnp.uint8) if rotations else None
    return EpisodeIndex(rows[:ways, :shots], rows[:, shots:], turns)


def make_task(images: ImageClasses, index: EpisodeIndex) -> Task:
    """The task with its images, pixels in [0, 1]; rows are sorted by class, unknown ones last.

    Labels are 0 … ways − 1, and −1 for query images of classes that the support does not have.
    """
    ways = index.support.shape[0]
    known = None if index.rotation is None else index.rotation[:ways]
    return Task(
        _observe(images, index.support, known, ways),
        _observe(images, index.query, index.rotation, ways),
    )


def _observe(
    images: ImageClasses,
    rows: Integer[Array, "classes shots"],
    rotation: UInt8[Array, " classes"] | None,
    ways: int,
) -> Data:
    classes, shots = rows.shape
    pixels = images.pixels.at[rows.astype(jnp.int32)].get(mode="promise_in_bounds")
    if rotation is not None:
        pixels = jax.vmap(turn)(pixels, rotation)
    label = jnp.arange(classes, dtype=jnp.int32)
    label = jnp.where(label < ways, label, -1)
    return Data(scale(pixels.reshape(classes * shots, *pixels.shape[2:])), jnp.repeat(label, shots))


def scale(pixels: UInt8[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Bytes as numbers in [0, 1]."""
    return pixels.astype(jnp.float32) / 255.0


def turn(
    pixels: UInt8[Array, "images size size channels"], quarters: UInt8[Array, ""]
) -> UInt8[Array, "images size size channels"]:
    """Square images turned anticlockwise, as `numpy.rot90` does, by a number known at run time."""
    pixels = jnp.where(quarters % 2 == 1, jnp.swapaxes(pixels, 1, 2), pixels)
    pixels = jnp.where((quarters == 1) | (quarters == 2), jnp.flip(pixels, 1), pixels)
    return jnp.where((quarters == 2) | (quarters == 3), jnp.flip(pixels, 2), pixels)


def _row_type(rows: int) -> jnp.dtype:
    """Two bytes where they do: hundreds of thousands of tasks are kept as row numbers."""
    return jnp.dtype(jnp.uint16 if rows <= 2**16 else jnp.int32)
