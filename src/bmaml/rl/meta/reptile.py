"""Reptile: pull the initial particles towards the adapted ones."""

from dataclasses import dataclass

from jaxtyping import Array, Float, PyTree

from bmaml.rl.inner import PolicyGradient
from bmaml.rl.meta.distance import DistanceUpdate, between
from bmaml.rl.meta.update import MetaBatch
from bmaml.rl.policy import GaussianPolicy


@dataclass(frozen=True)
class Reptile(DistanceUpdate):
    r"""$\sum_m\lVert\theta^m_0 - \mathrm{stopgrad}(\theta^{n,m}_\tau)\rVert^2$, Algorithm 7."""

    def distances(
        self, policy: GaussianPolicy, inner: PolicyGradient, initial: PyTree, task: MetaBatch
    ) -> Float[Array, " M"]:
        """From the initial particles to the adapted ones."""
        return between(initial, inner.run(policy, initial, task.support))
