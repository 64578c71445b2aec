"""Images per second of a meta-update's feature extractor, against PyTorch and bare matrix products."""

import argparse
import statistics
import time

import jax
import jax.numpy as jnp

from bmaml.models.conv import ConvFeatures
from bmaml.scale import device_for_each_core, task_mesh
from bmaml.scale.mesh import replicate

TASKS, ROWS, FILTERS = 16, 10, 64  # 5-way 1-shot, with one query image per class
NETWORKS = {"28×28×1": (28, 1, 4), "84×84×3": (84, 3, 5)}


def ours(size: int, channels: int, *, devices: int = 1, one_batch: bool = True):
    extractor = ConvFeatures(filters=FILTERS, standardise=False)
    images = jax.random.normal(jax.random.key(0), (TASKS, ROWS, size, size, channels))
    weights = extractor.init(jax.random.key(1), images[0])

    def loss(weights, images):
        if one_batch:
            features, _ = extractor.encode(weights, images.reshape(-1, *images.shape[2:]))
        else:
            features = jax.vmap(lambda x: extractor.encode(weights, x)[0])(images)
        return jnp.sum(jnp.square(features))

    gradient = jax.grad(loss)
    if (mesh := task_mesh(devices)) is not None:
        whole, share = jax.P(), jax.P(mesh.axis_names[0])
        gradient = jax.shard_map(
            lambda *of_device: jax.lax.psum(jax.grad(loss)(*of_device), mesh.axis_names[0]),
            mesh=mesh,
            in_specs=(whole, share),
            out_specs=whole,
            check_vma=False,
        )
        weights = replicate(weights, mesh)
        images = jax.device_put(images, jax.NamedSharding(mesh, share))
    run = jax.jit(gradient).lower(weights, images).compile()
    return lambda: jax.block_until_ready(run(weights, images))


def library(size: int, channels: int, blocks: int):
    """The same network as one would write it with XLA's convolution and pooling."""
    layout = ("NHWC", "HWIO", "NHWC")
    images = jax.random.normal(jax.random.key(0), (TASKS * ROWS, size, size, channels))
    weights = ConvFeatures(filters=FILTERS, standardise=False).init(jax.random.key(1), images)

    def loss(weights, x):
        for block in weights:
            x = jax.lax.conv_general_dilated(x, block.kernel, (1, 1), "SAME", dimension_numbers=layout)
            mean, variance = jnp.mean(x, (1, 2, 3), keepdims=True), jnp.var(x, (1, 2, 3), keepdims=True)
            x = jax.nn.relu((x - mean) * jax.lax.rsqrt(variance + 1e-5) * block.scale + block.shift)
            x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
        return jnp.sum(jnp.square(x))

    run = jax.jit(jax.grad(loss)).lower(weights, images).compile()
    return lambda: jax.block_until_ready(run(weights, images))


def products(size: int, channels: int, blocks: int):
    """As many operations as the network's convolutions, in matrix products that fit the cache."""
    pixels, operations = size, 0
    for block in range(blocks):
        inputs = channels if block == 0 else FILTERS
        passes = 2 if block == 0 else 3  # forward, by kernel, and by input, except by the image
        operations += passes * 2 * TASKS * ROWS * pixels**2 * 9 * inputs * FILTERS
        pixels //= 2
    rows, inner = 1024, 9 * FILTERS
    left = jax.random.normal(jax.random.key(0), (rows, inner))
    right = jax.random.normal(jax.random.key(1), (inner, FILTERS))
    repeats = round(operations / (2 * rows * inner * FILTERS))

    def step(_, right):
        # The next product depends on this one, so that none is left out.
        return right + 1e-9 * (left @ right)[:inner]

    run = jax.jit(lambda right: jax.lax.fori_loop(0, repeats, step, right)).lower(right).compile()
    return lambda: jax.block_until_ready(run(right))


def medians(contestants, repetitions: int) -> dict[str, tuple[float, float]]:
    """Seconds by the clock, and seconds of processor time."""
    seconds = {name: [] for name in contestants}
    for run in contestants.values():
        run()
    for _ in range(repetitions):
        for name, run in contestants.items():
            start, work = time.perf_counter(), time.process_time()
            run()
            seconds[name].append((time.perf_counter() - start, time.process_time() - work))
    return {
        name: tuple(map(statistics.median, zip(*each, strict=True))) for name, each in seconds.items()
    }


def tell(title: str, seconds: dict[str, tuple[float, float]]) -> None:
    """A line for each contestant."""
    print(f"{title}, {TASKS * ROWS} images")
    for contestant, (clock, work) in seconds.items():
        print(
            f"  {contestant:26s} {TASKS * ROWS / clock:9.0f} images/s   "
            f"{clock / seconds['bmaml'][0]:6.2f} x the time of bmaml   {work / clock:.1f} cores busy",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repetitions", type=int, nargs="?", default=9)
    parser.add_argument("--library", action="store_true", help="XLA's own operations, too: minutes")
    options = parser.parse_args()
    repetitions = options.repetitions
    devices = device_for_each_core(TASKS) or 1
    for name, (size, channels, blocks) in NETWORKS.items():
        contestants = {
            "bmaml": ours(size, channels, devices=devices),
            "bmaml, one device": ours(size, channels),
            "bmaml, tasks by vmap": ours(size, channels, one_batch=False),
            "products alone": products(size, channels, blocks),
        }
        if options.library:
            contestants["XLA's operations"] = library(size, channels, blocks)
        try:
            import torch_images

            for layout in ("channels last", "channels first"):
                contestants[f"PyTorch, {layout}"] = torch_images.make(
                    TASKS * ROWS, size, channels, blocks, layout == "channels last"
                )
        except ImportError:
            print("PyTorch is not installed: its lines are left out.")
        seconds = medians(contestants, repetitions)
        tell(f"{name}, forward and backward, median of {repetitions}", seconds)


if __name__ == "__main__":
    main()
