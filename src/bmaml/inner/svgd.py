"""Stein variational gradient descent: particles that climb together and keep apart."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from bmaml import particles as sets
from bmaml.inner.update import InnerUpdate
from bmaml.kernels import Kernel, rbf


@dataclass(frozen=True)
class SVGD(InnerUpdate):
    r"""$\theta \leftarrow \theta + \alpha\,\phi(\theta)$, Eq. 1 of Kim et al. 2018."""

    kernel: Kernel = field(default_factory=rbf)

    def direction(self, particles: PyTree, scores: PyTree) -> PyTree:
        """SVGD's φ for every particle."""
        return stein_direction(self.kernel, particles, scores)

    def pool_scales(self, scales: PyTree) -> PyTree:
        """The geometric mean over particles.

        One scale for all is a constant metric, under which SVGD is still SVGD. With scales of their
        own, a particle with a small precision takes the scores of the others enlarged by the ratio of
        precisions.
        """
        return jax.tree.map(lambda leaf: jnp.full_like(leaf, jnp.exp(jnp.mean(jnp.log(leaf)))), scales)


def stein_direction(kernel: Kernel, particles: PyTree, scores: PyTree) -> PyTree:
    r"""The direction of SVGD, from scores alone.

    $$\phi(\theta^i) = \frac1M\sum_j\bigl[k(\theta^j,\theta^i)\,\nabla\log p(\theta^j)
      + \nabla_{\theta^j}k(\theta^j,\theta^i)\bigr]$$

    With one particle this is its score, exactly. The scores may come from anywhere: from a posterior
    here, from a policy gradient in reinforcement learning (SVPG).
    """
    size = sets.count(particles)
    if size == 1:
        return scores
    values, repulsion = kernel(sets.squared_distances(particles))
    attraction = sets.mix(sets.share_batch_axes(values, scores), scores)
    # Σ_j w_ij (θⁱ − θʲ) as one product per leaf.
    spread = jnp.diag(jnp.sum(repulsion, axis=1)) - repulsion
    apart = sets.mix(spread, particles)
    return sets.scale(jnp.full((size,), 1.0 / size), sets.add(attraction, apart))
