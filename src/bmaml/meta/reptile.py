"""Reptile: pull the initial particles towards the adapted ones."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.distances import paired_squared
from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class Reptile(MetaObjective):
    r"""$\lVert\Theta_0 - \mathrm{stopgrad}(\Theta^n_\tau)\rVert^2$, first order (Nichol et al. 2018).

    Adaptation runs on all the rows of a task: with nothing held out for a validation loss, holding
    rows back would only make the baseline weaker. It trains only what adaptation moves.
    """

    trains_shared: ClassVar[bool] = False

    def loss(
        self,
        posterior: Posterior,
        inner: InnerUpdate,
        initial: PyTree,
        task: Task,
        *,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The squared distance; its gradient points from the adapted particles to the initial."""
        target = posterior.target(task.support.join(task.query))
        adapted = inner.run(target, jax.lax.stop_gradient(initial), key=key)
        return jnp.sum(paired_squared(initial, jax.lax.stop_gradient(adapted)))
