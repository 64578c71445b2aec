"""Stein variational gradient descent: particles that climb together and keep apart."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml import particles as sets
from bmaml.inner.update import InnerUpdate
from bmaml.kernels import Kernel, rbf


@dataclass(frozen=True)
class SVGD(InnerUpdate):
    r"""$\theta \leftarrow \theta + \alpha\,\phi(\theta)$, Eq. 1 of Kim et al. 2018.

    A kernel that is `learned` has its bandwidths trained by the meta-update, through the moves.
    """

    kernel: Kernel = field(default_factory=rbf)

    @property
    def learns(self) -> bool:
        """Whether steps or bandwidths are learned, or kept as they were at first."""
        return super().learns or self.kernel.remembers

    def init(self, particles: PyTree) -> dict[str, Any]:
        """The logarithms of the learned factors, on steps and on the kernel's bandwidths."""
        variables = super().init(particles)
        if self.kernel.remembers:
            variables["log_bandwidths"] = self.kernel.init(particles)
        return variables

    def direction(self, particles: PyTree, scores: PyTree) -> PyTree:
        """SVGD's φ for every particle."""
        log_factors = self.variables.get("log_bandwidths", ())
        return stein_direction(self.kernel, particles, scores, log_factors)

    def pool_scales(self, scales: PyTree) -> PyTree:
        """The geometric mean over particles.

        One scale for all is a constant metric, under which SVGD is still SVGD. With scales of their
        own, a particle with a small precision takes the scores of the others enlarged by the ratio of
        precisions.
        """
        return jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.exp(jnp.mean(jnp.log(leaf)))), scales)


def stein_direction(
    kernel: Kernel,
    particles: PyTree,
    scores: PyTree,
    log_factors: Float[Array, "*layers"] | tuple[()] = (),
) -> PyTree:
    r"""The direction of SVGD, from scores alone.

    $$\phi(\theta^i) = \frac1M\sum_j\bigl[k(\theta^j,\theta^i)\,\nabla\log p(\theta^j)
      + \nabla_{\theta^j}k(\theta^j,\theta^i)\bigr]$$

    With one particle this is its score, exactly. The scores may come from anywhere: from a posterior
    here, from a policy gradient in reinforcement learning (SVPG). `log_factors` are those of a kernel
    that is learned.
    """
    size = sets.count(particles)
    if size == 1:
        return scores
    values, apart = kernel.on(particles, log_factors)
    attraction = sets.mix(sets.share_batch_axes(values, scores), scores)
    return sets.scale(jnp.full((size,), 1.0 / size), sets.add(attraction, apart))
