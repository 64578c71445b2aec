"""The kernel of the paper's published reinforcement-learning code."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from bmaml.kernels import SMALLEST_BANDWIDTH, Kernel


class MeanDistanceKernel(Kernel):
    r"""$k = \exp(-\lVert\theta-\theta'\rVert^2/h)$ with $h = \bar d^{\,2}/\log(M+1)$.

    $\bar d$ is the mean distance over pairs. Unlike everywhere else in this library the bandwidth is
    differentiated through, as it is in the authors' code.
    """

    def bandwidths(
        self,
        squared_distances: Float[Array, "*layers M M"],
        log_factors: Float[Array, "*layers"] | tuple[()] = (),
    ) -> Float[Array, "*layers"]:
        """The rule's bandwidth, no constant to differentiation."""
        return jnp.maximum(self.bandwidth(squared_distances), SMALLEST_BANDWIDTH)


def mean_distance(squared_distances: Float[Array, "M M"]) -> Float[Array, ""]:
    """The square of the mean distance over log(M + 1)."""
    size = squared_distances.shape[0]
    if size == 1:
        return jnp.ones(())
    pairs = squared_distances[jnp.triu_indices(size, k=1)]
    # The floor gives a root a gradient where two particles coincide.
    distances = jnp.sqrt(jnp.maximum(pairs, SMALLEST_BANDWIDTH))
    return jnp.square(jnp.mean(distances)) / jnp.log(size + 1.0)


def authors_kernel() -> Kernel:
    """The authors' kernel for reinforcement learning."""
    return MeanDistanceKernel(lambda scaled: jnp.exp(-scaled), mean_distance)
