"""Kernels over particles: a profile, and one bandwidth or one a layer, by a rule or learned."""

from collections.abc import Callable
from functools import partial

from bmaml.kernels.bandwidths import Bandwidth, as_bandwidth, authors_median, fixed, median
from bmaml.kernels.kernel import SMALLEST_BANDWIDTH, Interaction, Kernel, KernelValues
from bmaml.kernels.layers import layers_of
from bmaml.kernels.profiles import authors_rbf, imq, rbf

KERNELS: dict[str, Callable[..., Kernel]] = {
    "rbf": rbf,
    "rbf-layers": partial(rbf, layers=True),
    "rbf-learned": partial(rbf, learned=True),
    "rbf-layers-learned": partial(rbf, layers=True, learned=True),
    "imq": imq,
    "imq-layers": partial(imq, layers=True),
    "imq-learned": partial(imq, learned=True),
    "imq-layers-learned": partial(imq, layers=True, learned=True),
    "authors-rbf": authors_rbf,
}

__all__ = [
    "KERNELS",
    "SMALLEST_BANDWIDTH",
    "Bandwidth",
    "Interaction",
    "Kernel",
    "KernelValues",
    "as_bandwidth",
    "authors_median",
    "authors_rbf",
    "fixed",
    "imq",
    "layers_of",
    "median",
    "rbf",
]
