r"""The linear-feature baseline: a ridge regression of returns on observations and time.

Features are $o$, $o^2$ (with $o$ clipped to ±10), $t/100$ to the powers 1 to 3, and a constant (Duan
et al. 2016). They are standardised first, which keeps the normal equations well conditioned in
float32, and solved by conjugate gradients: two batched LAPACK solvers in one program can hang a pool
of two threads in XLA's CPU runtime.
"""

import jax
import jax.numpy as jnp
from jax.scipy.sparse.linalg import cg
from jaxtyping import Array, Bool, Float

CLIP = 10.0
# Of the variance of a standardised feature: well above what float32 loses in the products.
RIDGE = 1e-5
# A feature that varies less than this share of its size is a constant to float32.
CONSTANT = 1e-5
LARGEST_NUMBER_OF_STEPS = 100


def features(observations: Float[Array, "episode time observation"]) -> Float[Array, "episode time f"]:
    """All features but the constant."""
    clipped = jnp.clip(observations, -CLIP, CLIP)
    episodes, steps, _ = observations.shape
    time = jnp.arange(steps, dtype=observations.dtype) / 100.0
    powers = jnp.stack([time, time * time, time * time * time], axis=-1)
    powers = jnp.broadcast_to(powers[None], (episodes, steps, 3))
    return jnp.concatenate([clipped, jnp.square(clipped), powers], axis=-1)


def fitted_values(
    observations: Float[Array, "episode time observation"],
    returns: Float[Array, "episode time"],
    mask: Bool[Array, "episode time"],
) -> Float[Array, "episode time"]:
    """Fit the baseline to one particle's episodes in one task; its values at the same steps.

    A constant to differentiation.
    """
    shape = returns.shape
    rows = features(observations).reshape(returns.size, -1)
    weights = mask.reshape(-1).astype(rows.dtype)
    total = jnp.maximum(jnp.sum(weights), 1.0)
    # Rows that did not take place may hold anything, NaN included.
    rows = jnp.where(mask.reshape(-1)[:, None], rows, 0.0)
    target = jnp.where(mask.reshape(-1), returns.reshape(-1), 0.0)

    means = (weights @ rows) / total
    centred = weights[:, None] * (rows - means[None, :])
    scales = jnp.sqrt(jnp.sum(jnp.square(centred), axis=0) / total)
    varies = scales > CONSTANT * jnp.maximum(jnp.abs(means), 1e-3)
    centred = centred * jnp.where(varies, 1.0 / jnp.where(varies, scales, 1.0), 0.0)[None, :]

    mean = jnp.sum(target) / total
    products = centred.T @ centred / total
    aims = centred.T @ (weights * (target - mean)) / total

    def matrix(coefficients: Array) -> Array:
        return products @ coefficients + RIDGE * coefficients

    steps = min(LARGEST_NUMBER_OF_STEPS, 2 * aims.shape[0])
    coefficients, _ = cg(matrix, aims, tol=1e-6, maxiter=steps)
    values = mean + centred @ coefficients
    return jax.lax.stop_gradient(jnp.where(mask, values.reshape(shape), 0.0))
