"""The chaser loss: adapted particles follow a leader that went on learning from their own episodes."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, Float, PyTree

from bmaml.rl.inner import PolicyGradient
from bmaml.rl.meta.distance import DistanceUpdate, between
from bmaml.rl.meta.update import MetaBatch
from bmaml.rl.policy import GaussianPolicy


@dataclass(frozen=True)
class Chaser(DistanceUpdate):
    r"""$\sum_m\lVert\theta^{n,m}_\tau - \mathrm{stopgrad}(\theta^{n+1,m}_\tau)\rVert^2$, Algorithm 6.

    The leader takes one step from the chaser, on the episodes the chaser played, and on those alone;
    `leader_step_size` None is the chaser's.
    """

    leader_step_size: float | None = None

    def distances(
        self, policy: GaussianPolicy, inner: PolicyGradient, initial: PyTree, task: MetaBatch
    ) -> Float[Array, " M"]:
        """From chaser to leader."""
        chaser = inner.run(policy, initial, task.support)
        leader = inner.step(
            policy, jax.lax.stop_gradient(chaser), task.query, step_size=self.leader_step_size
        )
        return between(chaser, leader)
