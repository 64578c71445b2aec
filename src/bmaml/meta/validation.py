"""The task-validation loss after adaptation: MAML and, with several particles, EMAML."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class Validation(MetaObjective):
    r"""$\sum_m \mathcal L(\theta^m_\tau; D^{val}_\tau)$: Algorithm 1 of Kim et al. 2018."""

    def loss(
        self,
        posterior: Posterior,
        inner: InnerUpdate,
        initial: PyTree,
        task: Task,
        *,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The sum of the particles' losses: they do not interact."""
        adapted = inner.run(posterior.target(task.support), initial, key=key)
        losses = jax.vmap(posterior.validation_loss, in_axes=(0, None))(adapted, task.query)
        return jnp.sum(losses)
