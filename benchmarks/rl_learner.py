"""Seconds of a meta-iteration by part, and TRPO's curvature product against a plain one.

python benchmarks/rl_learner.py --method svpg-trpo --particles 5
python benchmarks/rl_learner.py --method svpg-trpo --particles 10 --memory    # of one meta-iteration
"""

import argparse
import resource

import jax
import jax.numpy as jnp
import numpy as np
from timing import best_seconds

from bmaml.rl import METHODS, Settings, gaussian_policy
from bmaml.rl.envs import Locomotion
from bmaml.rl.envs.locomotion import SUBSTEPS
from bmaml.rl.meta.trust_region import Problem
from bmaml.rl.play import Player
from bmaml.rl.rollout import draw_tasks
from bmaml.rl.train import begin


def plain_product(problem: Problem, initial, vector):
    """All tasks at once: forward over reverse through the divergence itself."""

    def divergence(these):
        new = jax.vmap(lambda task: problem.outputs(these, task))(problem.tasks)
        gaps = jax.vmap(jax.vmap(lambda old, other, rows: rows.weights @ old.divergence(other)))
        return jnp.mean(gaps(problem.old, new, problem.query))

    return jax.jvp(jax.grad(divergence), (initial,), (vector,))[1]


def inside_episodes(player: Player, particles, tasks, episodes) -> dict:
    """What playing `episodes` once is made of, in a robot's world: physics, and policies."""
    world = player.environment
    assert isinstance(world, Locomotion)
    shape, time = episodes.mask.shape[:3], episodes.mask.shape[3]
    total = int(np.prod(shape))
    keys = jax.random.split(jax.random.key(2), total)
    goals = np.repeat(np.asarray(tasks), total // shape[0])
    controls = np.moveaxis(np.asarray(episodes.actions, np.float64).reshape(total, time, -1), 1, 0)
    active = np.moveaxis(np.asarray(episodes.mask).reshape(total, time), 1, 0)
    seen = np.moveaxis(np.asarray(episodes.observations), 3, 0).copy()
    noise = np.zeros((*shape, world.action_size), np.float32)

    def physics() -> None:
        """The same actions again, and nothing looked at."""
        world.reset(goals, keys)
        for now, action in zip(active, np.clip(controls, -1, 1), strict=True):
            world.controls[:] = action
            ids = None if now.all() else np.flatnonzero(now).astype(np.int32)
            world.batch.step(ids, nstep=SUBSTEPS[world.physics], stage=world.stage)

    def policies() -> None:
        """The same observations again; each answer is waited for, as physics would."""
        for now in seen:
            np.asarray(player.rollout.act(particles, now, noise))

    return {"episodes: physics alone": physics, "episodes: policies alone": policies}


def tell_memory(update, arguments) -> None:
    """Of one meta-update, and of the process that sampled, compiled and ran it."""
    jax.block_until_ready(update(*arguments))
    sizes = update.memory_analysis()
    print(f"episodes that it learns from: {sizes.argument_size_in_bytes / 2**20:.0f} MiB")
    print(f"work space of the meta-update: {sizes.temp_size_in_bytes / 2**20:.0f} MiB")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory of the process: {peak:.2f} GiB")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--environment", default="navigation")
    parser.add_argument("--method", default="svpg-trpo", choices=list(METHODS))
    parser.add_argument("--settings", default="paper")
    parser.add_argument("--particles", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", action="store_true", help="play and update once; tell the memory")
    options = parser.parse_args()

    settings = Settings(
        options.environment,
        options.method,
        options.settings,
        particles=options.particles,
        tasks=options.tasks,
    ).resolved()
    world, method = settings.build_environment(), settings.build_method()
    policy = gaussian_policy(world.action_size)
    state = begin(settings, world, policy, method).state
    initial, carried = jax.tree.map(lambda leaf: leaf[0], (state.particles, state.optimizer_state.meta))
    player = Player(world, policy, method, settings)
    tasks = draw_tasks(world, jax.random.key(0), settings.tasks)
    update = jax.jit(
        lambda particles, before, batch: method.meta.update(
            policy, method.inner, particles, before, batch
        )
    )
    played = player(initial, tasks, jax.random.key(1))
    if options.memory:
        tell_memory(
            update.lower(initial, carried, played.batch).compile(), (initial, carried, played.batch)
        )
        return
    spread = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (settings.tasks, *leaf.shape)), initial)
    episodes = player.rollout(spread, tasks, jax.random.key(1))
    parts = {"episodes, once": lambda: player.rollout(spread, tasks, jax.random.key(1))}
    if isinstance(world, Locomotion):
        parts |= inside_episodes(player, spread, tasks, episodes)
    parts |= {
        "advantages, once": lambda: player.experience_of(episodes),
        "adaptation": lambda: player.adapt(spread, played.batch.support[0]),
        "meta-update": lambda: update(initial, carried, played.batch),
    }
    if options.method.endswith("trpo"):
        # The batch goes in as an argument: as a constant it would be folded for minutes.
        def product(particles, batch, *, plain: bool):
            problem = Problem.together(policy, method.inner, particles, batch)
            if plain:
                return plain_product(problem, particles, particles)
            return problem.curvature_product(particles, particles)

        ours = jax.jit(lambda particles, batch: product(particles, batch, plain=False))
        plain = jax.jit(lambda particles, batch: product(particles, batch, plain=True))
        memory = {
            name: one.lower(initial, played.batch).compile().memory_analysis().temp_size_in_bytes
            for name, one in {"task by task": ours, "plain": plain}.items()
        }
        parts["curvature product, task by task"] = lambda: ours(initial, played.batch)
        parts["curvature product, plain"] = lambda: plain(initial, played.batch)
        for name, size in memory.items():
            print(f"curvature product, {name}: {size / 2**20:.0f} MiB of temporary memory")
    waited = {name: (lambda run=run: jax.block_until_ready(run())) for name, run in parts.items()}
    for name, value in best_seconds(waited, rounds=options.rounds).items():
        print(f"{name:>36}: {value:8.3f} s")


if __name__ == "__main__":
    main()
