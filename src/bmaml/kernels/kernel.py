r"""A radial kernel over a set of particles.

$$k(\theta,\theta') = \kappa(u), \qquad u = \frac{\lVert\theta-\theta'\rVert^2}{h}$$

A kernel is its profile $\kappa$; the slope that SVGD's repulsion needs is $\kappa'$, taken by automatic
differentiation, so that it is the true gradient of the kernel for every profile.

With `layers`, every layer $l$ of the L in a particle has a bandwidth of its own, and

$$u = \frac1L\sum_l \frac{\lVert\theta_l-\theta'_l\rVert^2}{h_l}.$$

For the RBF that is the product of one kernel a layer, to the power 1/L so that $k$ at typical distances
is what it is with one bandwidth. The alternative, the mean of one kernel a layer, sees each layer's
distribution but not how layers depend on each other: it cannot tell a posterior from the product of
its marginals.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml import particles as sets
from bmaml.kernels.bandwidths import Bandwidth
from bmaml.kernels.layers import layers_of

# Below this the particles coincide to float32 precision and any bandwidth gives the same kernel.
SMALLEST_BANDWIDTH = 1e-6
# Of the whole particle's bandwidth, the least that a layer may have: precisions are the same in all
# particles at first, and a median of zero would make the smallest difference a reason to flee.
SMALLEST_SHARE = 1e-3


class KernelValues(NamedTuple):
    r"""A kernel over a particle set.

    `values[i, j]` is $k(\theta^j, \theta^i)$, and `repulsion[i, j]` the number $w_{ij}$ with
    $\nabla_{\theta^j} k(\theta^j, \theta^i) = w_{ij}\,(\theta^i - \theta^j)$; one for each layer, on a
    first axis, if layers have bandwidths of their own.
    """

    values: Float[Array, "M M"]
    repulsion: Float[Array, "*layers M M"]


class Interaction(NamedTuple):
    r"""What particles do to each other: `values` as above, `apart[i]` is $\sum_j\nabla_{\theta^j}k$."""

    values: Float[Array, "M M"]
    apart: PyTree


@dataclass(frozen=True)
class Kernel:
    """A profile, a bandwidth rule, and a factor on the repulsion (1 is the truth).

    With `layers`, the rule holds for each layer by itself. With `learned`, a bandwidth is what the rule
    says times a factor that the meta-update trains; it begins at 1. With `initial`, a bandwidth is what
    the rule says of the particles that a training begins with, and stays so, unless it is `learned`.
    """

    profile: Callable[[Array], Array]
    bandwidth: Bandwidth
    repulsion_factor: float = 1.0
    layers: bool = False
    learned: bool = False
    initial: bool = False

    @property
    def remembers(self) -> bool:
        """Whether it has numbers to keep beside the particles, which `init` makes."""
        return self.learned or self.initial

    def init(self, particles: PyTree) -> Float[Array, "*layers"] | tuple[()]:
        """The logarithms of the learned factors, all zero; or of the initial bandwidths; or nothing."""
        if self.initial:
            return jnp.log(self.bandwidths(self.squared_distances(particles)))
        if not self.learned:
            return ()
        return jnp.zeros((len(layers_of(particles)),) if self.layers else ())

    def squared_distances(self, particles: PyTree) -> Float[Array, "*layers M M"]:
        """All pairwise squared distances, of each layer if layers have bandwidths of their own."""
        if not self.layers:
            return sets.squared_distances(particles)
        return jnp.stack([sets.squared_distances(layer) for layer in layers_of(particles)])

    def bandwidths(
        self,
        squared_distances: Float[Array, "*layers M M"],
        log_factors: Float[Array, "*layers"] | tuple[()] = (),
    ) -> Float[Array, "*layers"]:
        """The rule's bandwidths, a constant to differentiation, times the learned factors.

        Initial bandwidths are what `init` kept of them; without that, what the rule says now.
        """
        if self.initial and not isinstance(log_factors, tuple):
            return jnp.exp(log_factors if self.learned else jax.lax.stop_gradient(log_factors))
        rule = jax.vmap(self.bandwidth) if squared_distances.ndim == 3 else self.bandwidth
        h = jnp.maximum(jax.lax.stop_gradient(rule(squared_distances)), SMALLEST_BANDWIDTH)
        if squared_distances.ndim == 3:
            whole = jax.lax.stop_gradient(self.bandwidth(jnp.sum(squared_distances, axis=0)))
            h = jnp.maximum(h, SMALLEST_SHARE * whole)
        return h if isinstance(log_factors, tuple) else h * jnp.exp(log_factors)

    def scaled(
        self, squared_distances: Float[Array, "*layers N N"], h: Float[Array, "*layers"]
    ) -> Float[Array, "N N"]:
        """The profile's argument u."""
        scaled = squared_distances / h[..., None, None]
        return jnp.mean(scaled, axis=0) if scaled.ndim == 3 else scaled

    def __call__(
        self,
        squared_distances: Float[Array, "*layers M M"],
        log_factors: Float[Array, "*layers"] | tuple[()] = (),
    ) -> KernelValues:
        """Evaluate on all pairs."""
        if self.layers and squared_distances.ndim != 3:
            raise ValueError("A kernel with a bandwidth for each layer wants the distances of each.")
        h = self.bandwidths(squared_distances, log_factors)
        scaled = self.scaled(squared_distances, h)
        slope = jax.vmap(jax.vmap(jax.grad(self.profile)))(scaled)
        weights = -2.0 * self.repulsion_factor / (h * float(h.size))
        return KernelValues(self.profile(scaled), jnp.multiply.outer(weights, slope))

    def on(
        self, particles: PyTree, log_factors: Float[Array, "*layers"] | tuple[()] = ()
    ) -> Interaction:
        """The kernel between all particles of a set, and the push that each gets from the others."""
        values, repulsion = self(self.squared_distances(particles), log_factors)
        if not self.layers:
            return Interaction(values, _apart(repulsion, particles))
        layers = [
            _apart(weights, layer)
            for weights, layer in zip(repulsion, layers_of(particles), strict=True)
        ]
        # Layers are leaves that stand side by side, so that their order is that of the whole.
        leaves = jax.tree.leaves(layers)
        return Interaction(values, jax.tree.unflatten(jax.tree.structure(particles), leaves))


def _apart(repulsion: Float[Array, "M M"], particles: PyTree) -> PyTree:
    """Σ_j w_ij (θⁱ − θʲ), as one product a leaf."""
    return sets.mix(jnp.diag(jnp.sum(repulsion, axis=1)) - repulsion, particles)
