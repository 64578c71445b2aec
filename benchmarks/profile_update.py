"""Where one BMAML meta-update spends its time: operations by kind, from XLA's own trace."""

import collections
import glob
import gzip
import json
import re
import tempfile

import jax
import jax.numpy as jnp

import bmaml

UPDATES = 50


def main() -> None:
    learner = bmaml.bmaml(bmaml.models.mlp(1, 1), num_particles=10, leader_steps=1)
    particles = learner.init(jax.random.key(0), jnp.zeros((1, 1)))
    tasks = bmaml.tasks.Sinusoid(num_tasks=None).draw(jax.random.key(1), 10)

    def update(particles, _):
        gradient = jax.grad(learner.meta_loss)(particles, tasks)
        return jax.tree.map(lambda a, g: a - 1e-9 * g, particles, gradient), None

    run = jax.jit(lambda start: jax.lax.scan(update, start, None, length=UPDATES)[0])
    compiled = run.lower(particles).compile()
    jax.block_until_ready(compiled(particles))
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            jax.block_until_ready(compiled(particles))
        (path,) = glob.glob(f"{folder}/**/*.trace.json.gz", recursive=True)
        with gzip.open(path) as file:
            events = json.load(file)["traceEvents"]
    shapes = dict(re.findall(r"%?([\w.\-]+) = (\w+\[[\d,]*\])", compiled.as_text()))
    total, times = 0.0, collections.Counter()
    counts = collections.Counter()
    for event in events:
        name = event.get("name", "")
        if event.get("ph") != "X" or name not in shapes or name.startswith(("while", "call")):
            continue
        size = 1
        for part in re.findall(r"\d+", shapes[name].partition("[")[2]):
            size *= int(part)
        kind = "matrix products" if "dot" in name or "ynn" in name else "element by element"
        group = f"{kind}, {'all tasks and particles' if size >= 100_000 else 'small results'}"
        times[group] += event["dur"] / UPDATES
        counts[group] += 1
        total += event["dur"] / UPDATES
    for group, time in times.most_common():
        print(f"{group:46s} {time / total:6.1%}   {counts[group] / UPDATES:5.0f} operations an update")


if __name__ == "__main__":
    main()
