"""The kernels: each is a profile κ(u), of the squared distance over the bandwidth."""

import jax.numpy as jnp

from bmaml.kernels.bandwidths import Bandwidth, as_bandwidth, authors_median
from bmaml.kernels.kernel import Kernel


def rbf(
    bandwidth: "str | float | Bandwidth" = "median", *, layers: bool = False, learned: bool = False
) -> Kernel:
    r"""$k = \exp(-\lVert\theta-\theta'\rVert^2/h)$, the paper's kernel.

    Arguments:
        bandwidth: `"median"`, a number, or a function of the squared distances; or `"initial"`, a
            share of the squared distance between the particles that a training begins with.
        layers: whether every layer has a bandwidth of its own.
        learned: whether the meta-update trains a factor on every bandwidth.
    """
    return Kernel(
        lambda u: jnp.exp(-u),
        as_bandwidth(bandwidth),
        layers=layers,
        learned=learned,
        initial=bandwidth == "initial",
    )


def imq(
    bandwidth: "str | float | Bandwidth" = "median", *, layers: bool = False, learned: bool = False
) -> Kernel:
    r"""$k = (1 + \lVert\theta-\theta'\rVert^2/h)^{-1/2}$, inverse multiquadric: heavier tails.

    The arguments are those of `rbf`.
    """
    return Kernel(
        lambda u: (1.0 + u) ** -0.5,
        as_bandwidth(bandwidth),
        layers=layers,
        learned=learned,
        initial=bandwidth == "initial",
    )


def authors_rbf() -> Kernel:
    r"""The kernel of the paper's published regression code.

    The median runs over all M² distances, the zeros on the diagonal included, over $\log M$, and the
    repulsion lacks the factor 2 of the true gradient.
    """
    return Kernel(lambda u: jnp.exp(-u), authors_median, repulsion_factor=0.5)
