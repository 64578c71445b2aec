"""A small task of each kind, with a pool, and a learner for it."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp

from bmaml.active import learn
from bmaml.inner import SVGD
from bmaml.kernels import rbf
from bmaml.learner import Learner
from bmaml.meta import Validation
from bmaml.models import mlp
from bmaml.posterior import Categorical, GaussianPrior, Posterior
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.tasks.task import Data, Task
from tests import helpers

WAYS = 3
POOL = 6
# Without step control and the median of distances, which take longest to compile.
INNER = SVGD(0.2, step_control=False, kernel=rbf(1.0))


class Setting(NamedTuple):
    learner: Learner
    initial: object
    tasks: Task

    @property
    def parts(self):
        """Support, pool and query of the first task."""
        support, query = jax.tree.map(lambda leaf: leaf[0], self.tasks)
        rows = jax.random.permutation(jax.random.key(3), query.y.shape[0])
        return support, take(query, rows[:POOL]), take(query, rows[POOL:])

    def run(self, support, pool, query=None, *, seed=0, initial=None, **options):
        """`learn`, compiled."""
        compiled = jax.jit(partial(learn, self.learner, **options))
        initial = self.initial if initial is None else initial
        return compiled(initial, support, pool, query=query, key=jax.random.key(seed))


def take(data, rows):
    return jax.tree.map(lambda leaf: leaf[rows], data)


@partial(jax.jit, static_argnums=0)
def blobs(count, key):
    """Classes that are clouds in the plane; rows sorted by class, one of support and four of query."""

    def one(key):
        centre_key, *keys = jax.random.split(key, 3)
        centres = 2.0 * jax.random.normal(centre_key, (WAYS, 2))

        def observe(key, shots):
            y = jnp.repeat(jnp.arange(WAYS, dtype=jnp.int32), shots)
            return Data(centres[y] + jax.random.normal(key, (WAYS * shots, 2)), y)

        return Task(observe(keys[0], 1), observe(keys[1], 4))

    return jax.vmap(one)(jax.random.split(key, count))


def _classification():
    model = mlp(2, WAYS, hidden=(5,))
    learner = Learner(Posterior(model, Categorical(), GaussianPrior()), INNER, Validation(), 3)
    initial = jax.jit(learner.init)(jax.random.key(0), jnp.zeros((1, 2)))
    return Setting(learner, initial, blobs(4, jax.random.key(1)))


def _regression():
    learner = helpers.small_learner(replace(INNER, step_size=0.02))
    initial = jax.jit(learner.init)(jax.random.key(0), jnp.zeros((1, 1)))
    return Setting(learner, initial, helpers.tasks(4, shots=9))


CLASSES, NUMBERS = _classification(), _regression()
SETTINGS = {ClassificationPrediction: CLASSES, RegressionPrediction: NUMBERS}
