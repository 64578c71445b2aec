"""Small learners and tasks that several tests share."""

import jax
import jax.numpy as jnp

from bmaml.inner import SVGD, GradientDescent, InnerUpdate
from bmaml.learner import Learner
from bmaml.meta import Chaser, MetaObjective, Validation
from bmaml.models import mlp
from bmaml.posterior import FlatPrior, GaussianLikelihood, GaussianPrior, Posterior, SquaredError
from bmaml.tasks import Sinusoid, Task

SMOOTH = mlp(1, 1, hidden=(6, 6), activation=jnp.tanh)


def bayesian_posterior(model=SMOOTH) -> Posterior:
    return Posterior(model, GaussianLikelihood(), GaussianPrior())


def plain_posterior(model=SMOOTH) -> Posterior:
    return Posterior(model, SquaredError(), FlatPrior())


def small_learner(
    inner: InnerUpdate | None = None,
    meta: MetaObjective | None = None,
    posterior: Posterior | None = None,
    num_particles: int = 3,
) -> Learner:
    return Learner(
        posterior or bayesian_posterior(),
        inner or SVGD(step_size=0.01),
        meta or Chaser(),
        num_particles,
    )


def plain_learner(num_particles: int = 2) -> Learner:
    return Learner(plain_posterior(), GradientDescent(0.01), Validation(), num_particles)


def tasks(count: int = 4, shots: int = 5, seed: int = 0) -> Task:
    return Sinusoid(num_tasks=None, shots=shots).draw(jax.random.key(seed), count)


def one_task(shots: int = 5, seed: int = 0) -> Task:
    return jax.tree.map(lambda leaf: leaf[0], tasks(1, shots, seed))


def initial_particles(learner: Learner, seed: int = 0):
    return learner.init(jax.random.key(seed), jnp.zeros((1, 1)))


def as_float64(tree):
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float64), tree)
