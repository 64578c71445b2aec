"""Every meta-objective in the registry passes these, with every inner update."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.inner import INNER_UPDATES
from bmaml.kernels import rbf
from bmaml.meta import META_OBJECTIVES
from bmaml.models import mlp
from tests.helpers import as_float64, bayesian_posterior, initial_particles, small_learner, tasks

ALL = pytest.mark.parametrize("name", list(META_OBJECTIVES))
INNER = pytest.mark.parametrize("inner", list(INNER_UPDATES))


TINY = mlp(1, 1, hidden=(3,), activation=jnp.tanh)


def learner_of(name, inner, **options):
    update = INNER_UPDATES[inner](step_size=0.01, **options)
    return small_learner(update, META_OBJECTIVES[name](), bayesian_posterior(TINY), num_particles=2)


@ALL
@INNER
def test_loss_is_a_finite_scalar_with_finite_gradients(name, inner):
    learner = learner_of(name, inner, steps=2)
    initial = initial_particles(learner)
    compiled = jax.jit(jax.value_and_grad(learner.meta_loss))
    loss, gradient = compiled(initial, tasks(), key=jax.random.key(0))
    assert loss.shape == ()
    assert np.isfinite(loss)
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))
    assert any(np.any(leaf != 0) for leaf in jax.tree.leaves(gradient))


@ALL
def test_loss_is_the_sum_over_tasks(name):
    learner = learner_of(name, "svgd")
    initial = initial_particles(learner)
    batch = tasks(3)

    @jax.jit
    def alone(initial, task):
        return learner.meta.loss(learner.posterior, learner.inner, initial, task)

    losses = [alone(initial, jax.tree.map(lambda leaf, i=i: leaf[i], batch)) for i in range(3)]
    np.testing.assert_allclose(jax.jit(learner.meta_loss)(initial, batch), sum(losses), rtol=1e-4)


# These hold a target constant, so that finite differences would see more than the gradient does; they
# have tests of their own.
WITH_CONSTANT_TARGETS = {"chaser", "reptile"}


@pytest.mark.parametrize(
    "name", [name for name in META_OBJECTIVES if name not in WITH_CONSTANT_TARGETS]
)
@INNER
def test_meta_gradients_match_finite_differences(name, inner):
    with jax.enable_x64(True):
        # A fixed bandwidth: the median is a constant to differentiation by design.
        options = {"kernel": rbf(30.0)} if inner == "svgd" else {}
        if inner == "hmc":
            options["leapfrog_steps"] = 2
        learner = learner_of(name, inner, steps=2, step_control=False, **options)
        initial, direction = (as_float64(initial_particles(learner, seed)) for seed in (0, 7))
        batch, key = as_float64(tasks(1)), jax.random.key(0)

        def along(distance):
            moved = jax.tree.map(lambda a, b: a + distance * b, initial, direction)
            return learner.meta_loss(moved, batch, key=key)

        width = 1e-6
        # One program for the slope and both ends: compiling is what takes the time.
        points = jnp.asarray([0.0, width, -width], jnp.float64)
        values, slopes = jax.jit(jax.vmap(jax.value_and_grad(along)))(points)
        np.testing.assert_allclose(slopes[0], (values[1] - values[2]) / (2 * width), rtol=1e-5)
