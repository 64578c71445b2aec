r"""How far to go along a move: the largest share of it that does what its slope promises.

A fixed step size that suits the trained number of steps overshoots sooner or later when adaptation goes
on: curvature grows as the fit improves, and an explicit step beyond 2/curvature diverges. Each
particle therefore takes the share $c\in\{1, \rho, \rho^2, \dots\}$ of its move $\delta$ at which the
gain in log density is at least what the slope promises less a margin (the ratio test of trust-region
methods; with an uphill slope it is Armijo's rule):

$$\log p(\theta + c\,\delta) - \log p(\theta) \;\ge\; c\,s - \mu\,\lvert c\,s\rvert,
  \qquad s = \langle\nabla\log p(\theta), \delta\rangle .$$

For gradient ascent this makes log p(θ) increase monotonically, so that particles stay inside the level
set they started in. For SVGD, where repulsion may point downhill, it bounds the loss by twice what the
repulsion asks for. A particle that finds no such share stays where it is; NaN and infinity never pass.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml import particles as sets

MARGIN = 0.9
SHRINK = 0.25
# Down to shares of 1e-14: curvature grows with the square of the inputs, which may be a million times
# those of training.
TRIES = 24
# Log densities of thousands of weights carry rounding errors of this relative size in float32; gains
# below it cannot be told from noise.
ROUNDING = 1e-6


def share_of_move(
    log_density: Callable[[PyTree], Float[Array, ""]],
    particles: PyTree,
    log_densities: Float[Array, " M"],
    scores: PyTree,
    moves: PyTree,
) -> Float[Array, " M"]:
    """The share of its move that each particle takes, a constant to differentiation."""
    particles, log_densities, scores, moves = jax.lax.stop_gradient(
        (particles, log_densities, scores, moves)
    )
    slopes = sets.inner_products(scores, moves)
    noise = ROUNDING * jnp.abs(log_densities)

    def passes(shares: Float[Array, " M"]) -> Array:
        moved = sets.add(particles, sets.scale(shares, moves))
        gain = jax.vmap(log_density)(moved) - log_densities
        promised = shares * slopes
        # A comparison with NaN is false: a move to NaN or from it never passes.
        return gain >= promised - MARGIN * jnp.abs(promised) - noise

    def shrink(state: tuple) -> tuple:
        tries, shares, passed = state
        shares = jnp.where(passed, shares, SHRINK * shares)
        return tries + 1, shares, passes(shares)

    full = jnp.ones_like(log_densities)
    _, shares, passed = jax.lax.while_loop(
        lambda state: (state[0] < TRIES) & ~jnp.all(state[2]), shrink, (0, full, passes(full))
    )
    return jnp.where(passed, shares, 0.0)


def take(shares: Float[Array, " M"], moves: PyTree) -> PyTree:
    """These shares of the moves; none of a move is nothing, though it be infinite."""
    return sets.where(shares > 0, sets.scale(shares, moves), jax.tree.map(jnp.zeros_like, moves))
