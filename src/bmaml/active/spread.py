"""Several rows to measure at once, such that they tell different things."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int


def spread_choice(
    samples: Float[Array, "particles rows"], noise_variance: Float[Array, ""] | float, count: int
) -> tuple[Int[Array, " count"], Float[Array, " count"]]:
    r"""Rows one after the other, each the most uncertain given that those before it are measured.

    The particles' functions have a joint covariance C over the rows. Measuring row i with noise
    $\sigma^2$ would leave, as for Gaussian variables,

    $$C \leftarrow C - \frac{C_{\cdot i} C_{i \cdot}}{C_{ii} + \sigma^2},$$

    whatever the measurement, so that a row much like one already chosen is no longer wanted. Only
    factors of C are kept: memory is rows × (particles + count).

    Arguments:
        samples: one function a particle, without noise.
        noise_variance: σ².
        count: how many rows.

    Returns:
        The rows, and the variance each still has when it is chosen.

    >>> same = jnp.array([[0.0, 0.0, 1.0], [2.0, 2.0, 0.0]])
    >>> spread_choice(same, 0.01, 2)[0]
    Array([0, 2], dtype=int32)
    """
    centred = (samples - jnp.mean(samples, axis=0, keepdims=True)) / jnp.sqrt(float(samples.shape[0]))
    rows = samples.shape[1]

    def choose(step: Array, state: tuple) -> tuple:
        variances, removed, chosen, scores = state
        # What is taken is not wanted again, even if nothing else is uncertain.
        taken = (
            jnp.zeros(rows, bool)
            .at[jnp.where(jnp.arange(count) < step, chosen, rows)]
            .set(True, mode="drop")
        )
        best = jnp.argmax(jnp.where(taken, -jnp.inf, variances)).astype(jnp.int32)
        column = centred[:, best] @ centred - removed[:, best] @ removed
        change = column / jnp.sqrt(jnp.maximum(variances[best] + noise_variance, 1e-30))
        return (
            jnp.maximum(variances - jnp.square(change), 0.0),
            removed.at[step].set(change),
            chosen.at[step].set(best),
            scores.at[step].set(variances[best]),
        )

    start = (
        jnp.sum(jnp.square(centred), axis=0),
        jnp.zeros((count, rows)),
        jnp.zeros(count, jnp.int32),
        jnp.zeros(count),
    )
    _, _, chosen, scores = jax.lax.fori_loop(0, count, choose, start)
    return chosen, scores
