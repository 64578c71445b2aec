"""How wide a kernel is: rules from squared distances to a bandwidth h."""

from collections.abc import Callable
from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

Bandwidth = Callable[[Float[Array, "M M"]], Float[Array, ""]]


def median(squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
    r"""$h = \operatorname{median}_{i<j}\lVert\theta^i-\theta^j\rVert^2 / \log(M+1)$."""
    size = squared_distances.shape[0]
    if size == 1:
        return jnp.ones(())
    return jnp.median(squared_distances[jnp.triu_indices(size, k=1)]) / jnp.log(size + 1.0)


# Of the squared distance of two fresh particles. Repulsion ends before particles are much farther apart
# than they were drawn, and reaches those that come together. See docs/results/sinusoid.md.
INITIAL_SHARE = 0.6


def share_of_distance(squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
    r"""$h = 0.6\,\operatorname{median}_{i<j}\lVert\theta^i-\theta^j\rVert^2$."""
    size = squared_distances.shape[0]
    if size == 1:
        return jnp.ones(())
    return INITIAL_SHARE * jnp.median(squared_distances[jnp.triu_indices(size, k=1)])


def authors_median(squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
    r"""The median over all M² entries, the zeros on the diagonal included, over $\log M$."""
    size = squared_distances.shape[0]
    if size == 1:
        return jnp.ones(())
    return jnp.median(squared_distances) / jnp.log(float(size))


@dataclass(frozen=True)
class Fixed:
    """A constant bandwidth; a class, so that the description of a run can say which."""

    value: float

    def __call__(self, squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
        """The value, whatever the distances."""
        return jnp.full((), self.value)


def fixed(value: float) -> Bandwidth:
    """A constant bandwidth."""
    if not value > 0:
        raise ValueError(f"The kernel bandwidth is {value}; it must be positive.")
    return Fixed(value)


def as_bandwidth(rule: "str | float | Bandwidth") -> Bandwidth:
    """A bandwidth rule from `"median"`, `"initial"`, a number or a function of squared distances."""
    if callable(rule):
        return rule
    if isinstance(rule, int | float):
        return fixed(float(rule))
    if rule == "median":
        return median
    if rule == "initial":
        return share_of_distance
    raise ValueError(
        f"Unknown bandwidth {rule!r}: use 'median', 'initial', a positive number or a function."
    )
