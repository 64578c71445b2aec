"""Kernels over particles: a profile, and one bandwidth or one a layer, by a rule or learned."""

from bmaml.kernels.bandwidths import (
    Bandwidth,
    as_bandwidth,
    authors_median,
    fixed,
    median,
    share_of_distance,
)
from bmaml.kernels.kernel import SMALLEST_BANDWIDTH, Interaction, Kernel, KernelValues
from bmaml.kernels.layers import layers_of
from bmaml.kernels.names import KERNELS, kernel_named
from bmaml.kernels.profiles import authors_rbf, imq, rbf

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
    "kernel_named",
    "layers_of",
    "median",
    "rbf",
    "share_of_distance",
]
