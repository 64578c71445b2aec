import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.distances import DISTANCES, paired_squared
from bmaml.inner import SVGD, GradientDescent
from bmaml.kernels import rbf
from bmaml.meta import Chaser, Validation
from tests.helpers import as_float64, initial_particles, one_task, plain_posterior, small_learner

EVERYTHING = ("weights", "likelihood", "prior")


def test_loss_vanishes_with_the_square_of_the_leaders_step():
    """It is the distance that the leader goes, and nothing else."""

    def loss(leader_step_size):
        learner = small_learner(meta=Chaser(1, leader_step_size, noise_from_query=False))
        initial = initial_particles(learner)
        return float(learner.meta.loss(learner.posterior, learner.inner, initial, one_task()))

    assert loss(1e-5) > 0
    assert loss(1e-4) == pytest.approx(100 * loss(1e-5), rel=1e-2)


def test_loss_is_the_distance_to_a_leader_on_all_data():
    learner = small_learner(meta=Chaser(2, 0.003, EVERYTHING, noise_from_query=False))
    initial, task = initial_particles(learner), one_task()
    chaser = learner.adapt(initial, task.support)
    leader = learner.inner.run(
        learner.posterior.target(task.support.join(task.query)), chaser, steps=2, step_size=0.003
    )
    np.testing.assert_allclose(
        learner.meta.loss(learner.posterior, learner.inner, initial, task),
        jnp.sum(paired_squared(chaser, leader)),
        rtol=1e-4,
    )


@pytest.mark.parametrize("name", list(DISTANCES))
def test_the_loss_is_any_distance_over_the_parts_that_are_matched(name):
    distance = DISTANCES[name]()
    learner = small_learner(meta=Chaser(2, 0.03, noise_from_query=False, distance=distance))
    initial, task = initial_particles(learner), one_task()

    @jax.jit
    def both(initial):
        chaser = learner.adapt(initial, task.support)
        joined = learner.posterior.target(task.support.join(task.query))
        leader = learner.inner.run(joined, chaser, steps=2, step_size=0.03)
        chaser, leader = (part._replace(likelihood=(), prior=()) for part in (chaser, leader))
        by_hand = distance(chaser, leader, learner.posterior, task)
        return learner.meta.loss(learner.posterior, learner.inner, initial, task), by_hand

    loss, by_hand = both(initial)
    assert float(loss) > 0
    np.testing.assert_allclose(loss, by_hand, rtol=1e-4)


def test_the_leader_receives_no_gradient():
    """The gradient is that of the distance to a leader frozen beforehand, by finite differences."""
    with jax.enable_x64(True):
        learner = small_learner(
            SVGD(0.01, steps=2, kernel=rbf(30.0), step_control=False),
            Chaser(2, 0.005, EVERYTHING, noise_from_query=False, held=()),
        )
        initial, task = as_float64(initial_particles(learner)), as_float64(one_task())
        direction = as_float64(initial_particles(learner, seed=7))
        chaser = learner.adapt(initial, task.support)
        leader = learner.inner.run(
            learner.posterior.target(task.support.join(task.query)),
            chaser,
            steps=2,
            step_size=0.005,
        )

        def moved(distance):
            return jax.tree.map(lambda a, b: a + distance * b, initial, direction)

        @jax.jit
        def frozen(distance):
            return jnp.sum(paired_squared(learner.adapt(moved(distance), task.support), leader))

        width = 1e-5
        numeric = (frozen(jnp.asarray(width)) - frozen(jnp.asarray(-width))) / (2 * width)
        slope = jax.grad(
            lambda distance: learner.meta.loss(learner.posterior, learner.inner, moved(distance), task)
        )(jnp.zeros((), jnp.float64))
        np.testing.assert_allclose(slope, numeric, rtol=1e-5)


def test_precisions_can_be_left_out_of_the_distance():
    initial, task = initial_particles(small_learner()), one_task()
    losses = {}
    for matched in (("weights",), ("likelihood",), ("prior",), EVERYTHING):
        learner = small_learner(meta=Chaser(1, 0.1, matched, noise_from_query=False))
        losses[matched] = float(learner.meta.loss(learner.posterior, learner.inner, initial, task))
    everything = losses.pop(EVERYTHING)
    assert min(losses.values()) > 0
    np.testing.assert_allclose(sum(losses.values()), everything, rtol=1e-5)


def test_the_noise_is_judged_by_what_the_chaser_leaves_of_the_query():
    """The noise precision's gradient is that of the query's likelihood after adaptation, no other."""
    initial, task = initial_particles(small_learner()), one_task()

    def gradient(noise_from_query, matched=("weights",)):
        learner = small_learner(meta=Chaser(3, 0.01, matched, noise_from_query))
        return jax.grad(lambda start: learner.meta.loss(learner.posterior, learner.inner, start, task))(
            initial
        )

    learner = small_learner()
    chaser = learner.adapt(initial, task.support)

    def query_loss(log_precisions):
        particles = chaser._replace(likelihood=log_precisions)
        logs = jax.vmap(learner.posterior.log_likelihood, (0, None))(particles, task.query)
        return -jnp.sum(logs)

    both, distance = gradient(True), gradient(False)
    difference = jax.tree.map(lambda one, other: one - other, both, distance)
    for leaf in jax.tree.leaves(difference._replace(likelihood=())):
        np.testing.assert_allclose(leaf, 0.0, atol=1e-6)
    of_query = jax.grad(query_loss)(chaser.likelihood)
    np.testing.assert_allclose(difference.likelihood, of_query, rtol=1e-4)


def test_a_held_part_is_not_trained_and_the_others_as_without_holding_it():
    initial, task = initial_particles(small_learner()), one_task()

    def gradient(held):
        learner = small_learner(meta=Chaser(3, 0.01, held=held))
        return jax.grad(lambda start: learner.meta.loss(learner.posterior, learner.inner, start, task))(
            initial
        )

    held, free = gradient(("prior",)), gradient(())
    np.testing.assert_array_equal(held.prior, 0.0)
    assert np.all(free.prior != 0)
    for one, other in zip(
        jax.tree.leaves(held._replace(prior=())), jax.tree.leaves(free._replace(prior=())), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_one_leader_step_is_a_step_down_the_loss_on_all_rows():
    """With s = 1 and M = 1 the chaser's gradient is that of −log p(θⁿ | D_trn ∪ D_val), scaled."""
    learner = small_learner(
        SVGD(0.01, step_control=False),
        Chaser(1, 1e-3, EVERYTHING, noise_from_query=False, held=()),
        num_particles=1,
    )
    initial, task = initial_particles(learner), one_task()
    posterior = learner.posterior
    whole = posterior.target(task.support.join(task.query))

    def density(initial):
        adapted = learner.adapt(initial, task.support)
        one = jax.tree.map(lambda leaf: leaf[0], adapted)
        scales = jax.lax.stop_gradient(whole.step_scales(one))
        score = jax.lax.stop_gradient(jax.grad(whole.log_density)(one))
        # −2 α' ⟨scale · score, θⁿ⟩: linear in θⁿ, with the gradient of log p in it.
        return -2e-3 * sum(
            jnp.sum(factor * jnp.sum(jnp.stack([jnp.sum(s * w) for s, w in zip(a, b, strict=True)])))
            for factor, a, b in zip(
                scales, map(jax.tree.leaves, score), map(jax.tree.leaves, one), strict=True
            )
        )

    ours = jax.grad(lambda start: learner.meta.loss(posterior, learner.inner, start, task))(initial)
    theirs = jax.grad(density)(initial)
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-2, atol=1e-6)


def test_one_step_of_a_leader_on_the_query_is_emamls_objective():
    """With s = 1, D_val alone and no noise level, the chaser's gradient is the validation loss's."""
    size = 1e-3
    chaser = Chaser(1, size, noise_from_query=False, leader_rows="query")
    learner = small_learner(GradientDescent(0.01), chaser, plain_posterior())
    initial, task = initial_particles(learner), one_task()

    def gradient(meta):
        loss = jax.grad(lambda start: meta.loss(learner.posterior, learner.inner, start, task))
        return jax.tree.leaves(loss(initial).weights)

    for ours, emamls in zip(gradient(chaser), gradient(Validation()), strict=True):
        np.testing.assert_allclose(ours, 2 * size * emamls, rtol=1e-2, atol=1e-6)
    others = gradient(Chaser(1, size, noise_from_query=False))
    assert not np.allclose(others[0], gradient(chaser)[0], rtol=0.1, atol=1e-6)


def test_unknown_rows_of_the_leader_are_refused():
    with pytest.raises(ValueError, match="leader_rows 'support': use 'all' or 'query'"):
        Chaser(leader_rows="support")
