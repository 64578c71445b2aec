"""What chaser and Reptile share: Adam on a distance between particles, task by task."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from bmaml.distances import paired_squared
from bmaml.rl.inner import PolicyGradient
from bmaml.rl.meta.update import Average, MetaBatch, MetaUpdate, Report, alone
from bmaml.rl.policy import GaussianPolicy


class AdamState(NamedTuple):
    """Adam's moments."""

    optimizer: PyTree


@dataclass(frozen=True)
class DistanceUpdate(MetaUpdate):
    """One step of Adam on the mean over tasks of a distance summed over particles.

    Arguments:
        step_size: Adam's.
        squared: the squared Euclidean distance of the paper, or the plain one of the authors' code.
    """

    step_size: float = 0.001
    squared: bool = True

    @abstractmethod
    def distances(
        self, policy: GaussianPolicy, inner: PolicyGradient, initial: PyTree, task: MetaBatch
    ) -> Float[Array, " M"]:
        """The squared distance of each particle in one task, differentiable in `initial`."""

    def init(self, initial: PyTree) -> AdamState:
        """No moments yet."""
        return AdamState(optax.adam(self.step_size).init(initial))

    def loss(
        self, policy: GaussianPolicy, inner: PolicyGradient, initial: PyTree, batch: MetaBatch
    ) -> Float[Array, ""]:
        """The mean over tasks."""

        # Recomputed when differentiated: memory is that of one task.
        @jax.checkpoint
        def of_task(task: MetaBatch) -> Float[Array, ""]:
            distances = self.distances(policy, inner, initial, task)
            if not self.squared:
                # A root has no gradient at zero.
                away = distances > 0
                distances = jnp.where(away, jnp.sqrt(jnp.where(away, distances, 1.0)), 0.0)
            return jnp.sum(distances)

        return jnp.mean(jax.lax.map(of_task, batch))

    def update(
        self,
        policy: GaussianPolicy,
        inner: PolicyGradient,
        initial: PyTree,
        state: PyTree,
        batch: MetaBatch,
        *,
        average: Average = alone,
    ) -> tuple[PyTree, PyTree, Report]:
        """One step of Adam."""
        loss, gradient = average(
            jax.value_and_grad(lambda particles: self.loss(policy, inner, particles, batch))(initial)
        )
        # Optax raises floats to integer powers, which a program with strict types may forbid.
        with jax.numpy_dtype_promotion("standard"):
            change, optimizer = optax.adam(self.step_size).update(gradient, state.optimizer, initial)
        moved = optax.apply_updates(initial, change)
        finite = jnp.all(
            jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((loss, moved))])
        )
        return moved, AdamState(optimizer), Report(loss, jnp.ones(()), jnp.zeros(()), finite)


def between(left: PyTree, right: PyTree) -> Float[Array, " M"]:
    """The squared distance of each pair of particles; no gradient enters `right`."""
    return paired_squared(left, jax.lax.stop_gradient(right))
