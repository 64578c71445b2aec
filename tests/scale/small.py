"""A training that takes a second, and what it leaves, for comparison between ways to run it."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

import bmaml
from bmaml.recipe import Recipe
from bmaml.scale.mesh import over_tasks, task_mesh

RECIPE = Recipe(
    "sinusoid",
    "bmaml",
    {"num_particles": 3, "leader_steps": 1},
    {"shots": 5, "num_tasks": 20},
    {"hidden": (8,)},
)
# Floats summed in another order, over so few updates.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-6}


def train(**options):
    """The particles after a few updates of eight tasks each, as one vector, and validation scores."""
    trained = bmaml.fit(
        RECIPE.learner(),
        RECIPE.task_source(),
        **{"steps": 20, "batch_size": 8, "validate_every": 10, "progress": False, **options},
    )
    particles = [np.ravel(leaf) for leaf in jax.tree.leaves(trained.last.particles)]
    scores = [score for entry in trained.history for score in entry["validation"].values()]
    return np.concatenate([*particles, scores])


def uneven():
    """Five tasks on four devices."""
    return over_tasks(lambda factor, tasks: factor * tasks, task_mesh(4))(2.0, jnp.arange(5.0))


def refused(**options):
    """The sentence that such a training gets."""
    try:
        train(**options)
    except ValueError as error:
        return str(error)
    return ""


if __name__ == "__main__":
    # Beside the tests, whose JAX has one device: train on two and on four.
    np.savez(
        sys.argv[1],
        two=train(devices=2),
        four=train(devices=4, tasks_at_once=1),
        fewer=train(devices=2, steps=15),
        refused=refused(devices=4, batch_size=6),
        uneven=uneven(),
    )
