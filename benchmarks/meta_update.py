"""One BMAML meta-update against torch.func and against its bare matrix products, in one run."""

import jax
import jax.numpy as jnp
from timing import best_seconds

import bmaml
from bmaml.posterior import GaussianLikelihood

PARTICLES, SHOTS, TASKS, WIDTH = 10, 5, 10, 40
UPDATES = 20  # meta-updates per dispatch, as in training


def ours(step_control: bool):
    from dataclasses import replace

    learner = bmaml.bmaml(
        bmaml.models.mlp(1, 1),
        num_particles=PARTICLES,
        step_size=0.001,
        leader_steps=1,  # the paper's
        likelihood=GaussianLikelihood(100.0, unit_steps=False),
    )
    learner = replace(learner, inner=replace(learner.inner, step_control=step_control))
    particles = learner.init(jax.random.key(0), jnp.zeros((1, 1)))
    tasks = bmaml.tasks.Sinusoid(num_tasks=None, shots=SHOTS).draw(jax.random.key(1), TASKS)

    def update(particles, _):
        gradient = jax.grad(learner.meta_loss)(particles, tasks)
        return jax.tree.map(lambda a, g: a - 1e-9 * g, particles, gradient), None

    run = jax.jit(lambda particles: jax.lax.scan(update, particles, None, length=UPDATES)[0])
    return lambda: jax.block_until_ready(run(particles))


def products():
    """The matrix products of the update's network passes alone.

    Per hidden layer: the chaser's pass forward, its gradients by input and by weight, the leader's same
    three on twice the rows, and the curvature product's six.
    """
    key = jax.random.key(0)
    weights = jax.random.normal(key, (TASKS * PARTICLES, WIDTH, WIDTH)) / WIDTH**0.5
    few = jax.random.normal(key, (TASKS * PARTICLES, SHOTS, WIDTH))
    many = jax.random.normal(key, (TASKS * PARTICLES, 2 * SHOTS, WIDTH))

    def update(carry, _):
        few, many = carry
        for _ in range(2):  # hidden layers
            for _ in range(4):
                few = few @ weights
            for _ in range(2):
                few = few @ (jnp.swapaxes(few, 1, 2) @ few / SHOTS)
            for _ in range(2):
                many = many @ weights
            many = many @ (jnp.swapaxes(many, 1, 2) @ many / SHOTS)
            few, many = jnp.tanh(few), jnp.tanh(many)
        return (few, many), None

    run = jax.jit(lambda carry: jax.lax.scan(update, carry, None, length=UPDATES)[0])
    return lambda: jax.block_until_ready(run((few, many)))


def main() -> None:
    contestants = {
        "bmaml": ours(step_control=True),
        "bmaml, no step control": ours(step_control=False),
        "matrix products alone": products(),
    }
    try:
        import torch_update

        torch_run = torch_update.make(PARTICLES, SHOTS, TASKS, 0.001)
        contestants["torch.func"] = lambda: torch_run()
    except ImportError:
        print("PyTorch is not installed: its line is left out.")
    best = best_seconds(contestants)
    seconds = {name: t if name == "torch.func" else t / UPDATES for name, t in best.items()}
    base = seconds["bmaml"]
    print(f"BMAML meta-gradient, M={PARTICLES}, K={SHOTS}, {TASKS} tasks, 1-40-40-40-1")
    for name, value in seconds.items():
        print(f"{name:28s} {1e3 * value:8.3f} ms   {value / base:6.2f} x bmaml")


if __name__ == "__main__":
    main()
