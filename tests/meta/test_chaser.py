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
    learner = small_learner(meta=Chaser(2, 0.003, matched=EVERYTHING))
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
            Chaser(2, 0.005, matched=EVERYTHING),
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
