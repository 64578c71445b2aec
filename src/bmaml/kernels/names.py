"""Kernels by name."""

from collections.abc import Callable
from functools import partial

from bmaml.kernels.kernel import Kernel
from bmaml.kernels.profiles import authors_rbf, imq, rbf

KERNELS: dict[str, Callable[..., Kernel]] = {
    "rbf": rbf,
    "rbf-layers": partial(rbf, layers=True),
    "rbf-learned": partial(rbf, learned=True),
    "rbf-layers-learned": partial(rbf, layers=True, learned=True),
    "rbf-initial": partial(rbf, bandwidth="initial"),
    "imq": imq,
    "imq-layers": partial(imq, layers=True),
    "imq-learned": partial(imq, learned=True),
    "imq-layers-learned": partial(imq, layers=True, learned=True),
    "authors-rbf": authors_rbf,
}
# Their bandwidth is part of what they are.
WITHOUT_NUMBER = ("rbf-initial", "authors-rbf")


def kernel_named(name: str) -> Kernel:
    """A kernel of the registry; with a number after its name, of that bandwidth, not the median.

    >>> float(kernel_named("rbf-70").bandwidth(None))
    70.0
    """
    if name in KERNELS:
        return KERNELS[name]()
    kind, _, number = name.rpartition("-")
    try:
        bandwidth = float(number)
    except ValueError:
        bandwidth = 0.0
    if kind not in KERNELS or kind in WITHOUT_NUMBER or not 0.0 < bandwidth < float("inf"):
        raise ValueError(
            f"Unknown kernel {name!r}: use one of {', '.join(KERNELS)}, or add a fixed bandwidth, such "
            "as rbf-70."
        )
    return KERNELS[kind](bandwidth)
