"""A meta-update on images: what particles and inner steps cost, and what drawing its tasks does."""

import jax
from timing import best_seconds

from bmaml.recipe import Recipe
from bmaml.scale.gradient import loss_and_gradient

TASKS = 16  # a meta-update, 5-way 1-shot with one query image a class: 160 images of 28×28
CASES = {
    "1 particle": {"num_particles": 1},
    "5 particles": {"num_particles": 5},
    "10 particles": {"num_particles": 10},
    "50 particles": {"num_particles": 50},
    "5 particles, n = s = 1": {"num_particles": 5, "inner_steps": 1},
    "5 particles, n = s = 100": {"num_particles": 5, "inner_steps": 100},
}


def meta_update(options):
    """One run of it, the work space it needs, and how many weights the particles have."""
    recipe = Recipe("glyphs", "bmaml", options)
    learner, source = recipe.learner(), recipe.task_source()
    training_set = source.training_set(jax.random.key(0))
    tasks = jax.jit(source.batch, static_argnums=2)(training_set, jax.random.key(1), TASKS)
    particles = learner.init(jax.random.key(2), tasks.support.x[0])
    keys = jax.random.split(jax.random.key(3), TASKS)
    compiled = jax.jit(loss_and_gradient(learner)).lower(particles, tasks, keys).compile()
    weights = sum(leaf.size for leaf in jax.tree.leaves(particles))
    space = compiled.memory_analysis().temp_size_in_bytes
    return lambda: jax.block_until_ready(compiled(particles, tasks, keys)), space, weights


def drawing():
    """The tasks of a meta-update, as training draws them: on the device, from images that lie there."""
    source = Recipe("glyphs", "bmaml", {}).task_source()
    training_set = source.training_set(jax.random.key(0))
    compiled = jax.jit(source.batch, static_argnums=2).lower(training_set, jax.random.key(1), TASKS)
    run = compiled.compile()
    return lambda: jax.block_until_ready(run(training_set, jax.random.key(1)))


def main() -> None:
    updates = {name: meta_update(options) for name, options in CASES.items()}
    contestants = {name: run for name, (run, _, _) in updates.items()} | {"drawing tasks": drawing()}
    seconds = best_seconds(contestants, rounds=7)
    for name, value in seconds.items():
        line = f"{name:26s} {value / seconds['1 particle']:7.3f} x the time of one particle"
        if name in updates:
            _, space, weights = updates[name]
            line += f"   work space {space / 2**20:6.1f} MiB   {weights:7d} weights"
        print(line)


if __name__ == "__main__":
    main()
