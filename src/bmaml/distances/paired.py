"""The paper's distance: each particle to the one that it became."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml.distances.distance import Distance
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class PairedSquared(Distance):
    r"""$\sum_m \lVert\theta^m - \theta'^m\rVert^2$, Eq. 7 of Kim et al. 2018."""

    def between(
        self, chaser: PyTree, leader: PyTree, posterior: Posterior, task: Task
    ) -> Float[Array, ""]:
        """The sum over pairs."""
        if not jax.tree.leaves(chaser):
            return jnp.zeros(())
        return jnp.sum(paired_squared(chaser, leader))


def paired_squared(left: PyTree, right: PyTree) -> Float[Array, " M"]:
    r"""$\lVert\theta^m - \theta'^m\rVert^2$ for each pair of particles."""
    return jax.tree.reduce(
        jnp.add,
        jax.tree.map(
            lambda a, b: jnp.sum(jnp.square(a - b).reshape(a.shape[0], -1), axis=1), left, right
        ),
    )
