"""Bayesian fast adaptation: the validation likelihood of the particle mixture."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class BFA(MetaObjective):
    r"""$-\log\bigl[\frac1M\sum_m p(D^{val}_\tau \mid \theta^m_\tau)\bigr]$, Eq. 5 of Kim et al. 2018.

    The likelihood of a whole validation set in one logarithm: the best particle takes nearly all the
    gradient. That is what the paper says it is, and why it overfits.
    """

    def loss(
        self,
        posterior: Posterior,
        inner: InnerUpdate,
        initial: PyTree,
        task: Task,
        *,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The negative log of the mean likelihood, by log-sum-exp."""
        adapted = inner.run(posterior.target(task.support), initial, key=key)
        log_likelihoods = jax.vmap(posterior.log_likelihood, in_axes=(0, None))(adapted, task.query)
        size = float(log_likelihoods.shape[0])
        return jnp.log(size) - jax.nn.logsumexp(log_likelihoods)
