"""Every inner update in the registry passes these."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml import particles as sets
from bmaml.inner import INNER_UPDATES, Target
from bmaml.models import mlp
from bmaml.posterior.posterior import LARGEST_CHANGE
from bmaml.tasks import Data
from tests.helpers import bayesian_posterior, initial_particles, one_task, small_learner

RELU = mlp(1, 1, hidden=(20, 20))
ALL = pytest.mark.parametrize("name", list(INNER_UPDATES))


def gaussian_target(mean=2.0, variance=0.5):
    def log_density(theta):
        return -0.5 * jnp.sum(jnp.square(theta - mean)) / variance

    return Target(log_density, lambda theta: jnp.ones(()))


@ALL
def test_keeps_structure_and_zero_steps_change_nothing(name):
    particles = jax.random.normal(jax.random.key(0), (4, 2))
    update = INNER_UPDATES[name](step_size=0.1, steps=3)
    key = jax.random.key(1)
    moved = update.run(gaussian_target(), particles, key=key)
    assert moved.shape == particles.shape
    assert not np.allclose(moved, particles)
    np.testing.assert_array_equal(update.run(gaussian_target(), particles, steps=0, key=key), particles)


@ALL
def test_steps_compose(name):
    particles = jax.random.normal(jax.random.key(0), (4, 2))
    update = INNER_UPDATES[name](step_size=0.1)
    key = jax.random.key(1)
    three = update.run(gaussian_target(), particles, steps=3, key=key)
    by_hand = particles
    for index in range(3):
        by_hand = update.step(gaussian_target(), by_hand, 0.1, jax.random.fold_in(key, index))
    np.testing.assert_allclose(three, by_hand, rtol=1e-5)


@ALL
def test_moves_towards_the_posterior(name):
    particles = -3.0 + jax.random.normal(jax.random.key(0), (100, 2))
    moved = INNER_UPDATES[name](step_size=0.3, steps=300).run(
        gaussian_target(mean=2.0), particles, key=jax.random.key(1)
    )
    np.testing.assert_allclose(jnp.mean(moved), 2.0, atol=0.15)


@ALL
@pytest.mark.parametrize("control", [True, False])
def test_meta_gradients_are_finite_at_coincident_particles(name, control):
    learner = small_learner(INNER_UPDATES[name](step_size=0.01, steps=2, step_control=control))
    initial = jax.tree.map(
        lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), initial_particles(learner)
    )
    task = one_task()

    def after(particles):
        adapted = learner.adapt(particles, task.support, key=jax.random.key(0))
        return jnp.sum(learner.predict(adapted, task.query.x).mean)

    for leaf in jax.tree.leaves(jax.jit(jax.grad(after))(initial)):
        assert np.all(np.isfinite(leaf))


@ALL
@pytest.mark.parametrize(("step_size", "far"), [(0.03, 1.0), (0.1, 1000.0), (10.0, 1.0)])
def test_a_thousand_steps_never_blow_up(name, step_size, far):
    """Far more steps, and far larger steps, than anyone trains with; points far outside."""
    update = INNER_UPDATES[name](step_size=step_size)
    learner = small_learner(update)
    task = one_task()
    support = task.support._replace(x=far * task.support.x)
    adapt = jax.jit(learner.adapt, static_argnames="steps")
    adapted = adapt(initial_particles(learner), support, steps=1000, key=jax.random.key(0))
    prediction = learner.predict(adapted, far * task.query.x)
    assert np.all(np.isfinite(prediction.mean))
    assert np.max(np.abs(prediction.mean)) < 50.0
    density = jax.vmap(bayesian_posterior().log_density, in_axes=(0, None))
    # A sample of a D-dimensional posterior lies about D/2 below its mode, give or take √(D/2).
    size = sum(leaf[0].size for leaf in jax.tree.leaves(adapted))
    loss = 10.0 + getattr(update, "temperature", 0.0) * size
    assert np.all(density(adapted, support) > density(initial_particles(learner), support) - loss)


@ALL
@pytest.mark.parametrize("far", [1e3, 1e6])
def test_points_far_outside_are_fitted_as_far_as_a_line_can(name, far):
    """There a network of ReLUs is a line through wherever training left it, and steps far too long."""
    learner = small_learner(INNER_UPDATES[name](step_size=0.03), posterior=bayesian_posterior(RELU))
    initial, x = initial_particles(learner), far * jnp.array([[-2.0], [1.0], [2.0]])
    support = Data(x, jnp.array([[1.0], [-1.0], [0.5]]))
    adapt = jax.jit(learner.adapt, static_argnames="steps")
    adapted = adapt(initial, support, steps=1000, key=jax.random.key(0))
    before, after = (
        np.max(np.abs(learner.predict(particles, x).mean - support.y))
        for particles in (initial, adapted)
    )
    assert before > 0.01 * far
    assert after < 3.0


@ALL
@pytest.mark.parametrize("far", [1e3, 1e4, 1e8, 1e25])
def test_targets_far_outside_never_blow_up(name, far):
    """What no noise level that training knew explains; the square of the largest is infinite."""
    learner = small_learner(INNER_UPDATES[name](step_size=0.03), posterior=bayesian_posterior(RELU))
    initial, x = initial_particles(learner), jnp.array([[-2.0], [0.0], [1.0]])
    support = Data(x, far * jnp.array([[1.0], [-1.0], [0.5]]))
    adapt = jax.jit(learner.adapt, static_argnames="steps")
    adapted = adapt(initial, support, steps=300, key=jax.random.key(0))
    prediction = learner.predict(adapted, jnp.array([[0.0], [3.0]]))
    assert np.all(np.isfinite(prediction.std))
    assert np.max(np.abs(prediction.mean)) < 100.0 * far
    # Noise itself may lead a little farther.
    change = np.abs(np.asarray(adapted.likelihood - initial.likelihood))
    assert np.max(change) < LARGEST_CHANGE + 0.5 * getattr(learner.inner, "temperature", 1e-5)


def test_bounded_moves_are_those_of_precisions_alone():
    posterior = bayesian_posterior()
    fresh = posterior.init(jax.random.key(0), jnp.zeros((1, 1)))
    start = jax.tree.map(jnp.ones_like, fresh)
    move = jax.tree.map(lambda leaf: jnp.full_like(leaf, -50.0), fresh)
    moved = posterior.bound(move, start, start)
    jax.tree.map(np.testing.assert_array_equal, moved.weights, move.weights)
    np.testing.assert_allclose([moved.likelihood, moved.prior], -LARGEST_CHANGE, rtol=1e-6)
    small = jax.tree.map(lambda leaf: 0.01 * leaf, move)
    jax.tree.map(np.testing.assert_array_equal, posterior.bound(small, start, start), small)


@ALL
def test_first_order_takes_scores_as_constants(name):
    particles = jax.random.normal(jax.random.key(0), (1, 2))
    update = INNER_UPDATES[name](step_size=0.1, first_order=True)

    def total(start):
        return jnp.sum(update.run(gaussian_target(), start, key=jax.random.key(1)))

    np.testing.assert_allclose(jax.grad(total)(particles), 1.0, rtol=1e-6)


@ALL
def test_works_under_jit_and_vmap(name):
    update = INNER_UPDATES[name](step_size=0.1, steps=2)
    starts = jax.random.normal(jax.random.key(0), (3, 4, 2))
    key = jax.random.key(1)

    def run(start):
        return update.run(gaussian_target(), start, key=key)

    batched = jax.jit(jax.vmap(run))(starts)
    for index in range(3):
        np.testing.assert_allclose(batched[index], run(starts[index]), rtol=1e-4, atol=1e-5)
    assert sets.count(batched[0]) == 4
