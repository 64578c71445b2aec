"""A distance in the space of predictions: networks are alike that say the same."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml.distances.distance import Distance
from bmaml.distances.paired import PairedSquared
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class PredictionSpace(Distance):
    r"""How differently paired particles predict the rows of a task, support and query.

    $$\sum_m \frac1n\sum_i\bigl(f_m(x_i) - f'_m(x_i)\bigr)^2, \qquad
      \sum_m \frac1n\sum_i \mathrm{KL}\bigl(p'_m(\cdot\mid x_i)\,\Vert\,p_m(\cdot\mid x_i)\bigr)$$

    for numbers and for labels, or whatever else the likelihood calls a divergence; the leader's
    predictions are primed. Particle by particle, so that the chaser also learns how much the leader's
    particles disagree, not only what they say on average. Parts of a particle that no output shows,
    such as precisions, keep the paired distance. Named in the Discussion of Kim et al. 2018.
    """

    def between(
        self, chaser: PyTree, leader: PyTree, posterior: Posterior, task: Task
    ) -> Float[Array, ""]:
        """The mean over the rows that count, summed over particles."""
        rows = task.support.join(task.query)
        ours = posterior.outputs(chaser, rows.x)
        # The leader's weights are constants already; those that all particles share are not.
        theirs = jax.lax.stop_gradient(posterior.outputs(leader, rows.x))
        divergences = jax.vmap(posterior.likelihood.row_divergences)(theirs, ours)
        by_row = jnp.sum(divergences, axis=0)
        weights = rows.counted().astype(by_row.dtype)
        mean = jnp.sum(jnp.where(weights > 0, by_row, 0.0)) / jnp.maximum(jnp.sum(weights), 1.0)
        unseen = PairedSquared().between(
            chaser._replace(weights=()), leader._replace(weights=()), posterior, task
        )
        return mean + unseen
