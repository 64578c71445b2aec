"""Cost against particles, tasks, width, blocks and devices; compile time, peak memory, latency."""

import os
import resource
import time

# The processor as two devices, for the last part; everything else runs on the first.
os.environ.setdefault("JAX_NUM_CPU_DEVICES", "2")

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from timing import best_seconds

import bmaml
from bmaml.scale import task_mesh
from bmaml.scale.gradient import loss_and_gradient
from bmaml.trained import Compiled


def meta_update(
    num_particles: int,
    num_tasks: int,
    method: str = "bmaml",
    *,
    width: int = 40,
    tasks_at_once: int | None = None,
    devices: int | None = None,
):
    options = {"leader_steps": 1} if method == "bmaml" else {}  # the paper's
    model = bmaml.models.mlp(1, 1, hidden=(width,) * 3)
    learner = getattr(bmaml, method)(model, num_particles=num_particles, **options)
    particles = learner.init(jax.random.key(0), jnp.zeros((1, 1)))
    tasks = bmaml.tasks.Sinusoid(num_tasks=None).draw(jax.random.key(1), num_tasks)
    keys, mesh = jax.random.split(jax.random.key(2), num_tasks), task_mesh(devices)
    if mesh is not None:
        particles = jax.device_put(particles, NamedSharding(mesh, PartitionSpec()))
        tasks, keys = jax.device_put((tasks, keys), NamedSharding(mesh, PartitionSpec("tasks")))
    gradient = loss_and_gradient(learner, mesh=mesh, tasks_at_once=tasks_at_once)
    start = time.perf_counter()
    run = jax.jit(gradient).lower(particles, tasks, keys).compile()
    compile_seconds = time.perf_counter() - start
    return (lambda: jax.block_until_ready(run(particles, tasks, keys))), compile_seconds, run


def main() -> None:
    print("cost of a meta-gradient, in units of M = 10 with 10 tasks")
    runs, compile_seconds, memory = {}, {}, {}
    for size in (5, 10, 20, 40, 80):
        name = f"M = {size}, 10 tasks"
        runs[name], compile_seconds[name], compiled = meta_update(size, 10)
        memory[name] = compiled.memory_analysis().temp_size_in_bytes
    for count in (5, 20, 40, 80, 160):
        name = f"M = 10, {count} tasks"
        runs[name], compile_seconds[name], compiled = meta_update(10, count)
        memory[name] = compiled.memory_analysis().temp_size_in_bytes
    for width in (20, 80, 160):
        name = f"M = 10, 10 tasks, width {width}"
        runs[name], compile_seconds[name], compiled = meta_update(10, 10, width=width)
        memory[name] = compiled.memory_analysis().temp_size_in_bytes
    for block in (10, 40):
        name = f"M = 10, 160 tasks, {block} at once"
        runs[name], compile_seconds[name], compiled = meta_update(10, 160, tasks_at_once=block)
        memory[name] = compiled.memory_analysis().temp_size_in_bytes
    runs["EMAML, M = 10, 10 tasks"], *_ = meta_update(10, 10, "emaml")
    for count in (10, 20, 80, 160):
        name = f"M = 10, {count} tasks, 2 devices"
        runs[name], compile_seconds[name], _ = meta_update(10, count, devices=2)
    best = best_seconds(runs, rounds=8)
    base = best["M = 10, 10 tasks"]
    for name, value in best.items():
        extra = (
            f"   compiles in {compile_seconds[name]:.1f} s, work space {memory[name] / 2**20:.1f} MiB"
            if name in memory
            else ""
        )
        print(f"{name:32s} {value / base:6.2f}{extra}")
    for count in (10, 80):
        weak = best[f"M = 10, {count} tasks"] / best[f"M = 10, {2 * count} tasks, 2 devices"]
        print(f"weak scaling, {count} tasks a device: 2 devices are {weak:.2f} as fast as one each")

    learner = bmaml.bmaml(bmaml.models.mlp(1, 1), num_particles=10, leader_steps=1)
    particles = learner.init(jax.random.key(0), jnp.zeros((1, 1)))
    compiled_functions = Compiled(learner)
    x, y = np.zeros((5, 1), np.float32), np.ones((5, 1), np.float32)
    key = jax.random.key(0)

    def adapt_and_predict():
        support = bmaml.tasks.Data(jnp.asarray(x), jnp.asarray(y))
        adapted = compiled_functions.adapt(particles, support, key, None, steps=1)
        return jax.block_until_ready(compiled_functions.predict(adapted, jnp.asarray(x)))

    latency = best_seconds({"adapt + predict": adapt_and_predict}, rounds=200)["adapt + predict"]
    print(f"adapt + predict, warm: {latency / base:.2f} of a meta-gradient ({1e3 * latency:.2f} ms)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory of the process: {peak / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
