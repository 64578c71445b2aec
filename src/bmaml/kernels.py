r"""Radial kernels $k(\theta,\theta') = \kappa(\lVert\theta-\theta'\rVert^2 / h)$ and their bandwidths.

A kernel is its profile $\kappa$; the slope that SVGD's repulsion needs is $\kappa'$, taken by automatic
differentiation, so that it is the true gradient of the kernel for every profile.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Bandwidth = Callable[[Float[Array, "M M"]], Float[Array, ""]]

# Below this the particles coincide to float32 precision and any bandwidth gives the same kernel.
SMALLEST_BANDWIDTH = 1e-6


class KernelValues(NamedTuple):
    r"""A kernel over a particle set.

    `values[i, j]` is $k(\theta^j, \theta^i)$, and `repulsion[i, j]` the number $w_{ij}$ with
    $\nabla_{\theta^j} k(\theta^j, \theta^i) = w_{ij}\,(\theta^i - \theta^j)$.
    """

    values: Float[Array, "M M"]
    repulsion: Float[Array, "M M"]


@dataclass(frozen=True)
class Kernel:
    """A radial kernel: a profile, a bandwidth rule, and a factor on the repulsion (1 is the truth)."""

    profile: Callable[[Array], Array]
    bandwidth: Bandwidth
    repulsion_factor: float = 1.0

    def __call__(self, squared_distances: Float[Array, "M M"]) -> KernelValues:
        """Evaluate on all pairs. The bandwidth is a constant to differentiation."""
        h = jax.lax.stop_gradient(self.bandwidth(squared_distances))
        h = jnp.maximum(h, SMALLEST_BANDWIDTH)
        scaled = squared_distances / h
        slope = jax.vmap(jax.vmap(jax.grad(self.profile)))(scaled)
        return KernelValues(self.profile(scaled), (-2.0 * self.repulsion_factor / h) * slope)


def rbf(bandwidth: "str | float | Bandwidth" = "median") -> Kernel:
    r"""$k = \exp(-\lVert\theta-\theta'\rVert^2/h)$, the paper's kernel."""
    return Kernel(lambda u: jnp.exp(-u), as_bandwidth(bandwidth))


def imq(bandwidth: "str | float | Bandwidth" = "median") -> Kernel:
    r"""$k = (1 + \lVert\theta-\theta'\rVert^2/h)^{-1/2}$, inverse multiquadric: heavier tails."""
    return Kernel(lambda u: (1.0 + u) ** -0.5, as_bandwidth(bandwidth))


def authors_rbf() -> Kernel:
    r"""The kernel of the paper's published regression code.

    The median runs over all M² distances, the zeros on the diagonal included, over $\log M$, and the
    repulsion lacks the factor 2 of the true gradient.
    """
    return Kernel(lambda u: jnp.exp(-u), _authors_median, repulsion_factor=0.5)


def median(squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
    r"""$h = \operatorname{median}_{i<j}\lVert\theta^i-\theta^j\rVert^2 / \log(M+1)$."""
    size = squared_distances.shape[0]
    if size == 1:
        return jnp.ones(())
    return jnp.median(squared_distances[jnp.triu_indices(size, k=1)]) / jnp.log(size + 1.0)


def fixed(value: float) -> Bandwidth:
    """A constant bandwidth."""
    if not value > 0:
        raise ValueError(f"The kernel bandwidth is {value}; it must be positive.")
    return lambda squared_distances: jnp.full((), value)


def as_bandwidth(rule: "str | float | Bandwidth") -> Bandwidth:
    """Turn `"median"`, a number or a function of the squared distances into a bandwidth rule."""
    if callable(rule):
        return rule
    if isinstance(rule, int | float):
        return fixed(float(rule))
    if rule == "median":
        return median
    raise ValueError(f"Unknown bandwidth {rule!r}: use 'median', a positive number or a function.")


def _authors_median(squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
    size = squared_distances.shape[0]
    if size == 1:
        return jnp.ones(())
    return jnp.median(squared_distances) / jnp.log(float(size))


KERNELS: dict[str, Callable[..., Kernel]] = {"rbf": rbf, "imq": imq, "authors-rbf": authors_rbf}
