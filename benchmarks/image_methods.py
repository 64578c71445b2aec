"""Images per second of whole meta-gradients, against the same in PyTorch: EMAML and BMAML.

python benchmarks/image_methods.py 15    # how often each takes its turn

Both have the same weights, tasks and inner steps, and the gradients are compared before anything is
timed. BMAML has mean cross-entropy and no prior here, and no method has step control: less to write
twice. 16 tasks, 5-way 1-shot with one query image a class: 160 images of an update; five particles.
"""

import argparse
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from images import NETWORKS, TASKS, medians, tell

import bmaml
from bmaml.models import ConvFeatures, features_and_heads, mlp
from bmaml.scale import device_for_each_core, task_mesh
from bmaml.scale.gradient import loss_and_gradient
from bmaml.scale.mesh import replicate
from bmaml.tasks import Data, Task

try:
    import torch_image_update
except ImportError as error:
    raise SystemExit("PyTorch is not installed: .venv/bin/pip install torch==2.13.0") from error

WAYS, PARTICLES = 5, 5  # and as many query images as support images
METHODS = {"emaml": (0.3, 10), "bmaml": (0.1, 20)}  # step size and steps, the presets'


def learner_of(method: str):
    step_size, steps = METHODS[method]
    model = features_and_heads(ConvFeatures(), mlp(None, WAYS, hidden=()))
    options = {"step_size": step_size, "inner_steps": steps, "num_particles": PARTICLES}
    options["targets"] = "labels"
    if method == "bmaml":
        options |= {"likelihood": "cross_entropy", "prior": "flat"}
    learner = getattr(bmaml, method)(model, **options)
    return replace(learner, inner=replace(learner.inner, step_control=False))


def tasks_of(size: int, channels: int) -> Task:
    """Images of noise, a class at each of five brightnesses."""
    labels = jnp.tile(jnp.arange(WAYS), (TASKS, 1))

    def draw(seed: int) -> Data:
        noise = jax.random.normal(jax.random.key(seed), (TASKS, WAYS, size, size, channels))
        return Data(noise + 0.3 * labels[..., None, None, None], labels)

    return Task(draw(0), draw(1))


def ours(learner, particles, tasks: Task, devices: int):
    """The compiled meta-gradient of all tasks."""
    mesh = task_mesh(devices)
    keys = jax.random.split(jax.random.key(3), TASKS)
    if mesh is not None:
        particles = replicate(particles, mesh)
        share = jax.NamedSharding(mesh, jax.P(mesh.axis_names[0]))
        tasks, keys = jax.device_put((tasks, keys), share)
    compiled = jax.jit(loss_and_gradient(learner, mesh=mesh)).lower(particles, tasks, keys).compile()
    return lambda: jax.block_until_ready(compiled(particles, tasks, keys))


def theirs(method: str, particles, tasks: Task, channels_last: bool):
    """The same in PyTorch."""
    (layer,) = particles.own.weights
    heads = np.concatenate([np.asarray(layer.weight).reshape(PARTICLES, -1), layer.bias], axis=1)
    shared = jax.tree.map(np.asarray, particles.shared)
    rows = [(np.asarray(part.x), np.asarray(part.y)) for part in tasks]
    return torch_image_update.make(shared, heads, rows, WAYS, method, *METHODS[method], channels_last)


def require_the_same(gradient, others) -> None:
    """Both gradients, up to rounding, which also decides between pixels that are as good as equal."""
    heads, *blocks = (other.numpy() for other in others)
    (layer,) = gradient.own.weights
    mine = [np.concatenate([np.asarray(layer.weight).reshape(PARTICLES, -1), layer.bias], axis=1)]
    for block in gradient.shared:
        mine += [np.transpose(block.kernel, (3, 2, 0, 1)), block.scale, block.shift]
    for one, other in zip(mine, [heads, *blocks], strict=True):
        error = np.linalg.norm(one - other) / np.linalg.norm(other)
        assert error < 1e-2, f"The gradients differ by {error:.1%}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("repetitions", type=int, nargs="?", default=9)
    repetitions = parser.parse_args().repetitions
    devices = device_for_each_core(TASKS) or 1
    for name, (size, channels, _) in NETWORKS.items():
        tasks = tasks_of(size, channels)
        for method in METHODS:
            learner = learner_of(method)
            particles = learner.init(jax.random.key(2), tasks.support.x[0])
            contestants = {
                "bmaml": ours(learner, particles, tasks, devices),
                "bmaml, one device": ours(learner, particles, tasks, 1),
                "PyTorch, channels last": theirs(method, particles, tasks, True),
                "PyTorch, channels first": theirs(method, particles, tasks, False),
            }
            for other in ("PyTorch, channels last", "PyTorch, channels first"):
                require_the_same(contestants["bmaml"]()[1], contestants[other]())
            seconds = medians(contestants, repetitions)
            tell(f"{method}, {name}, a meta-gradient, median of {repetitions}", seconds)


if __name__ == "__main__":
    main()
