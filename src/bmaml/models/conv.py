"""The convolutional network of the paper's image experiments."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key, Shaped

from bmaml.models.convolution import convolve, pool
from bmaml.models.mlp import Layer, mlp
from bmaml.models.model import Model
from bmaml.models.normalise import Moments, image_moments, normalise, row_moments

NORMS = ("example", "task", "transductive", "none")

# Numbers in the maps that are in work at a time where all of them would not fit into the caches: one
# image of 84×84, or five of 28×28, with 64 filters.
CHUNK = 2**18
# The squared length of an image's features: that of 64 features of variance 1, for which the step sizes
# of the presets were found. What a step on a head changes about its logits grows with this length, so
# with the number of features as length a network of 256 would need a quarter of the step.
SQUARED_LENGTH = 64.0
# The most numbers in the maps of the second block that are kept for the gradient, which otherwise makes
# them again: those of 148 images of 84×84.
KEPT = 2**24

Statistics = tuple[Moments, ...]
Features = Float[Array, "rows features"]


class Block(NamedTuple):
    """The weights of one block; `scale` is None without normalisation."""

    kernel: Float[Array, "3 3 channels filters"]
    scale: Float[Array, " filters"] | None
    shift: Float[Array, " filters"]


@dataclass(frozen=True)
class ConvFeatures:
    r"""Blocks of 3×3 convolution, normalisation, ReLU and 2×2 max-pooling; then flattened.

    $$h_{l+1} = \mathrm{pool}\bigl(\max(0, \mathrm{normalise}(h_l * k_l))\bigr)$$

    | `norm` | normalises by the mean and variance of |
    |---|---|
    | `"example"` | one image, over its pixels and filters (layer normalisation) |
    | `"task"` | each filter over the support rows of a task, kept for its query rows |
    | `"transductive"` | each filter over support and query rows together |
    | `"none"` | nothing: a bias instead |

    All but the last have a learned scale and shift for each filter. Only "transductive" lets a
    prediction depend on the other images it is asked about; many published few-shot results do, so
    compare with care.

    Args:
        blocks: how many; None halves the image down to one or two pixels, the paper's choice: 4 for
            28×28 (64 features) and 5 for 84×84 (256 features).
        filters: in each block.
        norm: see the table.
        standardise: give the features of each image mean 0 and one length, whatever their number. The
            chaser's distance is between heads: without it, shrinking all features lessens the distance
            and teaches nothing; and one step size suits all sizes of images.

    Reference: Kim et al. 2018, Experiments; the blocks are those of Vinyals et al. 2016.
    """

    blocks: int | None = None
    filters: int = 64
    norm: Literal["example", "task", "transductive", "none"] = "example"
    standardise: bool = True

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise ValueError(f"norm must be one of {', '.join(NORMS)}, but is {self.norm!r}.")
        if self.filters < 1 or (self.blocks is not None and self.blocks < 1):
            raise ValueError(
                "A convolutional network needs at least one block and one filter, but has "
                f"blocks={self.blocks} and filters={self.filters}."
            )

    @property
    def transductive(self) -> bool:
        """Whether support and query rows are to be encoded together."""
        return self.norm == "transductive"

    def init(
        self, key: Key[Array, ""], example: Shaped[Array | np.ndarray, "..."]
    ) -> tuple[Block, ...]:
        """Draw weights: He-normal kernels, unit scales, no shifts.

        Args:
            key: decides the draw.
            example: images `(rows, height, width, channels)`, of which only the shape counts.

        Returns:
            One `Block` per block.
        """
        blocks = self._blocks_for(example.shape)
        draw = jax.nn.initializers.he_normal(in_axis=(0, 1, 2), out_axis=3)

        def block(key: Key[Array, ""], channels: int) -> Block:
            kernel = draw(key, (3, 3, channels, self.filters))
            ones, zeros = jnp.ones(self.filters, kernel.dtype), jnp.zeros(self.filters, kernel.dtype)
            return Block(kernel, None if self.norm == "none" else ones, zeros)

        first, *rest = jax.random.split(key, blocks)
        return (block(first, example.shape[3]), *(block(each, self.filters) for each in rest))

    def encode(
        self,
        weights: tuple[Block, ...],
        x: Shaped[Array | np.ndarray, "..."],
        statistics: Statistics | None = None,
    ) -> tuple[Features, Statistics]:
        """Features of images.

        Args:
            weights: as `init` draws them.
            x: images `(rows, height, width, channels)`.
            statistics: what "task" and "transductive" normalise with; None for those of `x` itself.

        Returns:
            The features, and the statistics they were normalised with: one `Moments` per block, or `()`
            if rows are independent of one another.
        """
        self._blocks_for(x.shape)
        x = jnp.asarray(x, weights[0].kernel.dtype)
        if self.norm in ("task", "transductive") and statistics is None:
            maps, statistics = _run_blocks(self.norm, weights, x, None)
            features = maps.reshape(x.shape[0], -1)
        else:
            features = _run_by_rows(self.norm, weights, x, statistics)
            statistics = () if statistics is None else statistics
        return _standardise(features) if self.standardise else features, statistics

    def size(self, height: int, width: int) -> int:
        """The number of features of an image."""
        blocks = self._blocks_for((1, height, width, 1))
        return (height >> blocks) * (width >> blocks) * self.filters

    def _blocks_for(self, shape: tuple[int, ...]) -> int:
        if len(shape) != 4:
            raise ValueError(
                f"Images must have the shape (rows, height, width, channels), not {shape}."
            )
        shorter = min(shape[1:3])
        # Down to one pixel from 28 (28, 14, 7, 3, 1), to two from 84 (84, 42, 21, 10, 5, 2).
        deepest = shorter.bit_length() - 1
        blocks = (deepest if shorter < 64 else deepest - 1) if self.blocks is None else self.blocks
        if not 1 <= blocks <= deepest:
            raise ValueError(
                f"Images of {shape[1]}×{shape[2]} pixels can be halved {max(deepest, 0)} times, but "
                f"the network has {max(blocks, 1)} blocks: use fewer blocks or larger images."
            )
        return blocks


def conv(ways: int, **options: Any) -> Model:
    """A classifier of images that has all its weights in one tree, for methods that adapt all layers.

    With `norm="transductive"` every call normalises its rows by themselves, support rows by support
    rows and query rows by query rows. `"task"` is refused: all of this network is adapted, so that
    nothing would keep the support's statistics for the query.

    Args:
        ways: the number of classes.
        options: of `ConvFeatures`.

    Returns:
        A `Model` with weights `(features, head)`; its `init` needs an example.

    >>> network = conv(ways=5, filters=8)
    >>> images = jnp.zeros((3, 28, 28, 1))
    >>> network.apply(network.init(jax.random.key(0), images), images).shape
    (3, 5)
    """
    extractor, head = ConvFeatures(**options), mlp(None, ways, hidden=())
    if extractor.norm == "task":
        raise ValueError(
            "conv cannot normalise query images by those of the support: use the norm example or none, "
            "or features_and_heads(ConvFeatures(norm='task'), ...), whose features all particles share."
        )

    def init(key: Key[Array, ""], example: Any) -> tuple[tuple[Block, ...], tuple[Layer, ...]]:
        if example is None:
            raise ValueError("conv learns its sizes from data: call init(key, example) with images.")
        features_key, head_key = jax.random.split(key)
        features = extractor.init(features_key, example)
        return features, head.init(head_key, jnp.zeros((1, extractor.size(*example.shape[1:3]))))

    def apply(weights: Any, x: Any) -> Float[Array, "rows ways"]:
        features, _ = extractor.encode(weights[0], x)
        return head.apply(weights[1], features)

    return Model(init, apply)


def _run_by_rows(norm: str, weights: Any, x: Any, statistics: Statistics | None) -> Features:
    """The features where no row depends on another.

    Of all maps those of the first block are by far the largest and, made of one or three channels, the
    least work: they are never kept. The others are, if memory allows.
    """

    def run(first: int, last: int | None, maps: Any) -> Any:
        known = None if statistics is None else statistics[first:last]
        return _run_blocks(norm, weights[first:last], maps, known)[0]

    filters = weights[0].kernel.shape[-1]
    size = x.shape[1] * x.shape[2] * filters
    x = _by_chunks(partial(run, 0, 1), x, max(1, CHUNK // size))
    size = x.shape[1] * x.shape[2] * filters
    rows = x.shape[0] if x.shape[0] * size <= KEPT else max(1, CHUNK // size)
    return _by_chunks(partial(run, 1, None), x, rows).reshape(x.shape[0], -1)


def _run_blocks(
    norm: str, weights: Any, x: Any, statistics: Statistics | None
) -> tuple[Float[Array, "rows height width channels"], Statistics]:
    used = []
    for index, block in enumerate(weights):
        maps = convolve(x, block.kernel)
        if norm == "none":
            pooled = pool(maps, jnp.ones_like(block.shift)) + block.shift[None, None, None, :]
        else:
            if norm == "example":
                moments = image_moments(maps)
            else:
                moments = row_moments(maps) if statistics is None else statistics[index]
                used.append(moments)
            # Normalisation keeps or, where the scale is negative, reverses the order of a filter's
            # pixels. So it can follow the pooling, with a quarter of the work.
            sign = jnp.where(block.scale < 0, -1, 1).astype(maps.dtype)
            pooled = normalise(pool(maps, sign), moments, block.scale, block.shift)
        x = jax.nn.relu(pooled)
    return x, tuple(used)


def _standardise(features: Features) -> Features:
    """Mean 0 and the same squared length in each row."""
    centred = features - jnp.mean(features, axis=1, keepdims=True)
    unit = centred * jax.lax.rsqrt(jnp.mean(jnp.square(centred), axis=1, keepdims=True) + 1e-5)
    return unit * (SQUARED_LENGTH / features.shape[1]) ** 0.5


def _by_chunks(run: Callable[[Array], Array], x: Array, size: int) -> Array:
    """`run`, `size` rows at a time; its gradient runs it again, faster than keeping all maps."""
    rows = x.shape[0]
    if rows <= size:
        return run(x)
    padded = jnp.pad(x, ((0, -rows % size), (0, 0), (0, 0), (0, 0)))
    parts = jax.lax.map(jax.checkpoint(run), padded.reshape(-1, size, *x.shape[1:]))
    return parts.reshape(padded.shape[0], *parts.shape[2:])[:rows]
