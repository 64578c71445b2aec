"""Cost against particles and tasks; compile time, peak memory, latency of adapt + predict."""

import resource
import time

import jax
import jax.numpy as jnp
import numpy as np
from timing import best_seconds

import bmaml
from bmaml.trained import Compiled


def meta_update(num_particles: int, num_tasks: int, method: str = "bmaml"):
    options = {"leader_steps": 1} if method == "bmaml" else {}  # the paper's
    learner = getattr(bmaml, method)(bmaml.models.mlp(1, 1), num_particles=num_particles, **options)
    particles = learner.init(jax.random.key(0), jnp.zeros((1, 1)))
    tasks = bmaml.tasks.Sinusoid(num_tasks=None).draw(jax.random.key(1), num_tasks)
    start = time.perf_counter()
    run = jax.jit(jax.grad(learner.meta_loss)).lower(particles, tasks).compile()
    compile_seconds = time.perf_counter() - start
    return (lambda: jax.block_until_ready(run(particles, tasks))), compile_seconds, run


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
    runs["EMAML, M = 10, 10 tasks"], *_ = meta_update(10, 10, "emaml")
    best = best_seconds(runs, rounds=8)
    base = best["M = 10, 10 tasks"]
    for name, value in best.items():
        extra = (
            f"   compiles in {compile_seconds[name]:.1f} s, work space {memory[name] / 2**20:.1f} MiB"
            if name in memory
            else ""
        )
        print(f"{name:26s} {value / base:6.2f}{extra}")

    learner = bmaml.bmaml(bmaml.models.mlp(1, 1), num_particles=10, leader_steps=1)
    particles = learner.init(jax.random.key(0), jnp.zeros((1, 1)))
    compiled_functions = Compiled(learner)
    x, y = np.zeros((5, 1), np.float32), np.ones((5, 1), np.float32)
    key = jax.random.key(0)

    def adapt_and_predict():
        support = bmaml.tasks.Data(jnp.asarray(x), jnp.asarray(y))
        adapted = compiled_functions.adapt(particles, support, key, steps=1)
        return jax.block_until_ready(compiled_functions.predict(adapted, jnp.asarray(x)))

    latency = best_seconds({"adapt + predict": adapt_and_predict}, rounds=200)["adapt + predict"]
    print(f"adapt + predict, warm: {latency / base:.2f} of a meta-gradient ({1e3 * latency:.2f} ms)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory of the process: {peak / 2**20:.2f} GiB")


if __name__ == "__main__":
    main()
