import jax
import jax.numpy as jnp
import numpy as np

from bmaml.distances import paired_squared
from bmaml.inner import SVGD
from bmaml.kernels import rbf
from bmaml.meta import Chaser
from tests.helpers import as_float64, initial_particles, one_task, small_learner

EVERYTHING = ("weights", "likelihood", "prior")


def test_loss_is_zero_without_leader_steps():
    learner = small_learner(meta=Chaser(leader_steps=0))
    initial = initial_particles(learner)
    assert float(learner.meta.loss(learner.posterior, learner.inner, initial, one_task())) == 0.0


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


def test_the_leader_receives_no_gradient():
    """The gradient is that of the distance to a leader frozen beforehand, by finite differences."""
    with jax.enable_x64(True):
        learner = small_learner(
            SVGD(0.01, steps=2, kernel=rbf(30.0), step_control=False),
            Chaser(2, 0.005, EVERYTHING, noise_from_query=False),
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
        learner = small_learner(meta=Chaser(leader_step_size=0.1, matched=matched))
        losses[matched] = float(learner.meta.loss(learner.posterior, learner.inner, initial, task))
    everything = losses.pop(EVERYTHING)
    assert min(losses.values()) > 0
    np.testing.assert_allclose(sum(losses.values()), everything, rtol=1e-5)


def test_the_leader_judges_the_noise_by_rows_that_adaptation_has_not_seen():
    learner = small_learner()
    posterior, task = learner.posterior, one_task()
    particle = jax.tree.map(lambda leaf: leaf[0], initial_particles(learner))
    ours = jax.value_and_grad(posterior.leader_target(task.support, task.query).log_density)(particle)
    joined = posterior.target(task.support.join(task.query))
    theirs = jax.value_and_grad(joined.log_density)(particle)
    np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-6)
    for one, other in zip(
        jax.tree.leaves(ours[1].weights), jax.tree.leaves(theirs[1].weights), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(ours[1].prior, theirs[1].prior, rtol=1e-5)
    of_query = jax.grad(posterior.log_likelihood)(particle, task.query)
    np.testing.assert_allclose(ours[1].likelihood, of_query.likelihood, rtol=1e-4)
    assert abs(float(theirs[1].likelihood - ours[1].likelihood)) > 0.1


def test_one_leader_step_is_a_step_down_the_loss_on_all_rows():
    """With s = 1 and M = 1 the chaser's gradient is that of −log p(θⁿ | D_trn ∪ D_val), scaled."""
    learner = small_learner(
        SVGD(0.01, step_control=False),
        Chaser(1, 1e-3, EVERYTHING, noise_from_query=False),
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
