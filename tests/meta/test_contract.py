"""Every meta-objective in the registry passes these, with every inner update."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.inner import INNER_UPDATES
from bmaml.kernels import rbf
from bmaml.meta import META_OBJECTIVES
from tests.helpers import as_float64, initial_particles, small_learner, tasks

ALL = pytest.mark.parametrize("name", list(META_OBJECTIVES))
INNER = pytest.mark.parametrize("inner", list(INNER_UPDATES))


def learner_of(name, inner, **options):
    return small_learner(INNER_UPDATES[inner](step_size=0.01, **options), META_OBJECTIVES[name]())


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
@INNER
def test_loss_is_the_sum_over_tasks(name, inner):
    learner = learner_of(name, inner)
    initial = initial_particles(learner)
    batch = tasks(3)

    @jax.jit
    def alone(initial, task):
        return learner.meta.loss(learner.posterior, learner.inner, initial, task)

    losses = [alone(initial, jax.tree.map(lambda leaf, i=i: leaf[i], batch)) for i in range(3)]
    np.testing.assert_allclose(jax.jit(learner.meta_loss)(initial, batch), sum(losses), rtol=1e-4)


# The objectives that differentiate through adaptation; `chaser` and `reptile` hold a target constant
# and have tests of their own.
@pytest.mark.parametrize("name", ["validation", "bfa"])
@INNER
def test_meta_gradients_match_finite_differences(name, inner):
    with jax.enable_x64(True):
        # A fixed bandwidth: the median is a constant to differentiation by design.
        options = {"kernel": rbf(30.0)} if inner == "svgd" else {}
        learner = learner_of(name, inner, steps=2, step_control=False, **options)
        initial = as_float64(initial_particles(learner))
        batch = as_float64(tasks(2))
        direction = as_float64(initial_particles(learner, seed=7))
        key = jax.random.key(0)

        @jax.jit
        def along(distance):
            moved = jax.tree.map(lambda a, b: a + distance * b, initial, direction)
            return learner.meta_loss(moved, batch, key=key)

        slope = jax.grad(along)(jnp.zeros((), jnp.float64))
        width = 1e-6
        numeric = (along(jnp.asarray(width)) - along(jnp.asarray(-width))) / (2 * width)
        np.testing.assert_allclose(slope, numeric, rtol=1e-5)
