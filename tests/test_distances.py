"""Every distance in the registry passes these, for numbers and for labels."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml import particles as sets
from bmaml.distances import DISTANCES, MMD, PairedSquared, PredictionSpace
from bmaml.inner import SVGD
from bmaml.kernels import KERNELS, rbf
from bmaml.models import mlp, share
from bmaml.posterior import Categorical, GaussianLikelihood, GaussianPrior, Posterior
from bmaml.tasks.task import Data, Task
from tests.helpers import as_float64

ALL = pytest.mark.parametrize("name", list(DISTANCES))
KINDS = pytest.mark.parametrize("kind", ["numbers", "labels"])
SIZE = 3


def posterior_of(kind, model=None):
    if kind == "labels":
        model = model or mlp(1, 3, hidden=(3,), activation=jnp.tanh)
        return Posterior(model, Categorical(), GaussianPrior())
    model = model or mlp(1, 1, hidden=(3,), activation=jnp.tanh)
    return Posterior(model, GaussianLikelihood(), GaussianPrior())


def task_of(kind):
    x = jnp.linspace(-2.0, 2.0, 6)[:, None]
    y = jnp.arange(6) % 3 if kind == "labels" else jnp.sin(x)
    return Task(Data(x[::2], y[::2]), Data(x[1::2], y[1::2]))


def particles_of(kind, seed=0, size=SIZE):
    posterior = posterior_of(kind)
    return sets.make(lambda key: posterior.init(key, jnp.zeros((1, 1))), jax.random.key(seed), size)


def distance_of(name, kind):
    """A compiled function of two sets."""
    distance, posterior, task = DISTANCES[name](), posterior_of(kind), task_of(kind)
    return jax.jit(lambda chaser, leader: distance(chaser, leader, posterior, task))


def leaves_of(tree):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(tree)]


@ALL
@KINDS
def test_never_negative_and_zero_for_the_same_particles(name, kind):
    distance = distance_of(name, kind)
    one, other = particles_of(kind), particles_of(kind, seed=1)
    assert distance(one, other).shape == ()
    assert float(distance(one, other)) > 0.01
    np.testing.assert_allclose(distance(one, one), 0.0, atol=1e-6)
    near = jax.tree.map(lambda leaf: leaf + 1e-4, one)
    assert float(distance(near, one)) > -1e-6


@ALL
@KINDS
def test_the_leader_receives_no_gradient_and_the_chaser_a_finite_one(name, kind):
    distance = distance_of(name, kind)
    one, other = particles_of(kind), particles_of(kind, seed=1)
    of_chaser, of_leader = jax.jit(jax.grad(distance, argnums=(0, 1)))(one, other)
    assert all(np.all(leaf == 0) for leaf in leaves_of(of_leader))
    assert all(np.all(np.isfinite(leaf)) for leaf in leaves_of(of_chaser))
    assert all(np.any(leaf != 0) for leaf in leaves_of(of_chaser.weights))


@ALL
@KINDS
@pytest.mark.parametrize("size", [1, SIZE])
def test_gradients_are_finite_and_vanish_where_sets_coincide(name, kind, size):
    gradient = jax.jit(jax.grad(distance_of(name, kind)))
    one = particles_of(kind, size=size)
    for leaf in leaves_of(gradient(one, one)):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-5)
    alike = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), one)
    for leaf in leaves_of(gradient(alike, alike)):
        assert np.all(np.isfinite(leaf))


@ALL
@KINDS
def test_descending_it_leads_to_the_leader(name, kind):
    distance = distance_of(name, kind)
    leader = particles_of(kind)
    noise = particles_of(kind, seed=1)
    chaser = jax.tree.map(lambda a, b: a + 0.1 * (b - a), leader, noise)
    slope = jax.jit(jax.grad(distance))(chaser, leader)
    closer = jax.tree.map(lambda a, b: a - 0.01 * b, chaser, slope)
    assert float(distance(closer, leader)) < float(distance(chaser, leader))


@ALL
@KINDS
def test_meta_gradients_match_finite_differences_at_a_leader_that_stays(name, kind):
    with jax.enable_x64(True):
        inner = SVGD(0.01, steps=2, kernel=rbf(30.0), step_control=False)
        posterior, distance = posterior_of(kind), DISTANCES[name]()
        task = task_of(kind)
        if kind == "numbers":
            task = as_float64(task)
        initial, direction = (as_float64(particles_of(kind, seed)) for seed in (0, 7))

        def chaser(initial):
            return inner.run(posterior.target(task.support), initial)

        joined = posterior.target(task.support.join(task.query))
        leader = jax.jit(lambda initial: inner.run(joined, chaser(initial), steps=3, step_size=0.05))(
            initial
        )

        def moved(distance):
            return jax.tree.map(lambda a, b: a + distance * b, initial, direction)

        @jax.jit
        def frozen(width):
            return distance(chaser(moved(width)), leader, posterior, task)

        @jax.jit
        def live(width):
            """As in the chaser's loss: the leader goes on from where the chaser is."""
            ours = chaser(moved(width))
            theirs = inner.run(joined, ours, steps=3, step_size=0.05)
            return distance(ours, theirs, posterior, task)

        width = 1e-6
        numeric = (frozen(jnp.asarray(width)) - frozen(jnp.asarray(-width))) / (2 * width)
        slope = jax.grad(live)(jnp.zeros((), jnp.float64))
        np.testing.assert_allclose(slope, numeric, rtol=1e-5)


@ALL
def test_rows_that_do_not_count_change_nothing(name):
    posterior, task = posterior_of("numbers"), task_of("numbers")
    one, other = particles_of("numbers"), particles_of("numbers", seed=1)
    more = Data(jnp.full((2, 1), 9.0), jnp.zeros((2, 1)), jnp.zeros(2, bool))
    longer = task._replace(query=task.query.join(more))
    distance = DISTANCES[name]()
    np.testing.assert_allclose(
        distance(one, other, posterior, longer), distance(one, other, posterior, task), rtol=1e-6
    )


@ALL
def test_parts_that_do_not_count_may_be_empty(name):
    posterior, task = posterior_of("numbers"), task_of("numbers")
    one, other = particles_of("numbers"), particles_of("numbers", seed=1)
    other = other._replace(likelihood=other.likelihood + 1.0)
    distance = DISTANCES[name]()
    with_precisions = distance(one, other, posterior, task)
    one, other = (part._replace(likelihood=(), prior=()) for part in (one, other))
    assert 0 < float(distance(one, other, posterior, task)) < float(with_precisions)


def test_shared_weights_learn_from_the_chaser_alone():
    """In prediction space the leader's outputs also depend on what all particles share."""
    model = share(mlp(1, 1, hidden=(3,), activation=jnp.tanh), ["[0]"])
    posterior, task = posterior_of("numbers", model), task_of("numbers")
    shared = model.init_shared(jax.random.key(0), jnp.zeros((1, 1)))
    one, other = (
        sets.make(lambda key: posterior.init(key, jnp.zeros((1, 1))), jax.random.key(seed), SIZE)
        for seed in (1, 2)
    )
    rows = task.support.join(task.query).x
    theirs = posterior.bind(shared).outputs(other, rows)

    def loss(shared):
        return PredictionSpace()(one, other, posterior.bind(shared), task)

    def expected(shared):
        return jnp.sum(jnp.mean(jnp.square(posterior.bind(shared).outputs(one, rows) - theirs), axis=1))

    for ours, by_hand in zip(
        leaves_of(jax.grad(loss)(shared)), leaves_of(jax.grad(expected)(shared)), strict=True
    ):
        np.testing.assert_allclose(ours, by_hand, rtol=1e-4, atol=1e-5)


def shuffle(particles, order=(2, 0, 1)):
    return jax.tree.map(lambda leaf: leaf[jnp.array(order)], particles)


@pytest.mark.parametrize("kernel", list(KERNELS))
def test_mmd_does_not_ask_which_particle_is_whose(kernel):
    distance = MMD(KERNELS[kernel]())
    posterior, task = posterior_of("numbers"), task_of("numbers")
    one, other = particles_of("numbers"), particles_of("numbers", seed=1)

    @jax.jit
    def between(left, right):
        return distance(left, right, posterior, task)

    apart = between(one, other)
    assert float(apart) > 0.01
    np.testing.assert_allclose(between(shuffle(one), other), apart, rtol=1e-4)
    np.testing.assert_allclose(between(one, shuffle(other)), apart, rtol=1e-4)
    np.testing.assert_allclose(between(one, shuffle(one)), 0.0, atol=1e-6)
    # The same particles in other numbers are another set.
    twice = jax.tree.map(lambda leaf: leaf[jnp.array([0, 0, 1])], one)
    assert float(between(twice, one)) > 0.01
    paired = PairedSquared()(one, shuffle(one), posterior, task)
    assert float(paired) > 1.0


def test_mmd_is_its_formula_with_the_leaders_bandwidth():
    left = jax.random.normal(jax.random.key(0), (4, 2))
    right = 1.0 + jax.random.normal(jax.random.key(1), (4, 2))
    posterior, task = posterior_of("numbers"), task_of("numbers")
    squares = np.sum((np.asarray(right)[:, None] - np.asarray(right)[None]) ** 2, axis=-1)
    h = np.median(squares[np.triu_indices(4, 1)]) / np.log(5.0)

    def mean(a, b):
        difference = np.asarray(a)[:, None] - np.asarray(b)[None]
        return np.mean(np.exp(-np.sum(difference**2, axis=-1) / h))

    expected = mean(left, left) + mean(right, right) - 2.0 * mean(left, right)
    np.testing.assert_allclose(MMD()(left, right, posterior, task), expected, rtol=1e-5)


def test_predictions_of_numbers_differ_by_their_mean_square():
    posterior, task = posterior_of("numbers"), task_of("numbers")
    one, other = particles_of("numbers"), particles_of("numbers", seed=1)
    x = jnp.concatenate([task.support.x, task.query.x])
    squares = np.square(posterior.outputs(one, x) - posterior.outputs(other, x))
    np.testing.assert_allclose(
        PredictionSpace()(one, other, posterior, task), squares.mean(axis=(1, 2)).sum(), rtol=1e-5
    )


def test_predictions_of_labels_differ_by_the_leaders_divergence():
    posterior, task = posterior_of("labels"), task_of("labels")
    chaser, leader = particles_of("labels"), particles_of("labels", seed=1)
    x = jnp.concatenate([task.support.x, task.query.x])
    ours, theirs = (
        np.asarray(jax.nn.softmax(posterior.outputs(particles, x)), np.float64)
        for particles in (chaser, leader)
    )
    divergences = np.sum(theirs * np.log(theirs / ours), axis=-1)
    np.testing.assert_allclose(
        PredictionSpace()(chaser, leader, posterior, task), divergences.mean(axis=1).sum(), rtol=1e-4
    )
