"""Hamiltonian Monte Carlo: a push in a random direction, and the way that the posterior bends it."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key, PyTree

from bmaml import particles as sets
from bmaml.inner.sampler import Sampler, multiply, roots, standard_normal
from bmaml.inner.step_control import MARGIN, ROUNDING, SHRINK, TRIES
from bmaml.inner.update import Target

# A trajectory whose energy rises by more than this (times the temperature) is worth a shorter step:
# Metropolis would refuse 19 in 20 of them. In a chain whose step suits the posterior it is rare.
TOLERANCE = 3.0


class Phase(NamedTuple):
    """Where particles are and how they move: `momentum` is in units of the metric, standard normal."""

    particles: PyTree
    momentum: PyTree
    log_densities: Float[Array, " M"]
    scores: PyTree

    def kinetic(self) -> Float[Array, " M"]:
        r"""$\frac12\lVert r\rVert^2$."""
        return 0.5 * sets.inner_products(self.momentum, self.momentum)

    def energy(self) -> Float[Array, " M"]:
        r"""$-\log p(\theta) + \frac12\lVert r\rVert^2$."""
        return self.kinetic() - self.log_densities


@dataclass(frozen=True)
class HMC(Sampler):
    r"""Momentum $r\sim\mathcal N(0, TI)$, then `leapfrog_steps` leapfrog steps.

    $$r \leftarrow r + \tfrac\epsilon2 P^{1/2}\nabla\log p(\theta), \quad
      \theta \leftarrow \theta + \epsilon P^{1/2} r, \quad
      r \leftarrow r + \tfrac\epsilon2 P^{1/2}\nabla\log p(\theta), \qquad \epsilon = \sqrt{2\alpha}.$$

    Eqs. 5.18–5.20 of Neal 2011 with the mass $P^{-1}$. One inner step is one trajectory. By this choice
    of $\epsilon$ the score moves a particle by α, as in gradient descent, and a trajectory of one
    leapfrog step is a step of `SGLD`.

    With `metropolis` a trajectory is taken with probability $\min(1, e^{-\Delta H/T})$, which makes the
    chain exact. The decision is NOT differentiated through: it is a constant, as if it had been known
    beforehand. It is off by default: a meta-gradient should know all that adaptation does.

    Step control shortens $\epsilon$ where the energy would rise so much that Metropolis would hardly
    ever take the trajectory, unless it gained speed and a tenth of that in log density. A particle that
    falls from a hilltop, as those of a fresh network do, gains energy by leapfrog steps, and to a cold
    chain any gain is large. Turn it off for a chain that is exact in every case.
    """

    leapfrog_steps: int = 4
    metropolis: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.leapfrog_steps < 1:
            raise ValueError(
                f"leapfrog_steps is {self.leapfrog_steps}; a trajectory needs one or more."
            )

    def step(
        self, target: Target, particles: PyTree, step_size: float, key: Key[Array, ""] | None
    ) -> PyTree:
        """One trajectory of every chain."""
        push_key, accept_key = jax.random.split(jax.random.key(0) if key is None else key)
        momentum = jax.tree.map(
            lambda leaf: self.temperature**0.5 * leaf, standard_normal(push_key, particles)
        )
        start = Phase(particles, momentum, *self.scores(target, particles))
        root = roots(self.metric_at(target, particles))
        shares = jnp.ones_like(start.log_densities)
        if self.step_control or self.metropolis:
            draws = jax.random.uniform(accept_key, shares.shape, shares.dtype)
            shares = self._shares(target, start, root, step_size, draws)
        end = self._leapfrog(target, start, root, step_size * shares).particles
        # A refused trajectory has no step, but no step along an infinite score is not a number.
        return sets.where(shares > 0, end, particles)

    def _shares(
        self, target: Target, start: Phase, root: PyTree, step_size: float, draws: Float[Array, " M"]
    ) -> Float[Array, " M"]:
        """The share of the step size that each particle takes, zero where it is refused; a constant.

        Trajectories are tried out first and then run with what was decided, so that one which ends
        in infinity leaves no NaN in the gradient.
        """
        start, root = jax.lax.stop_gradient((start, root))
        before, speed = start.energy(), start.kinetic()
        rounding = ROUNDING * jnp.abs(before)

        def attempt(shares: Float[Array, " M"]) -> tuple[Float[Array, " M"], Bool[Array, " M"]]:
            """By how much the energy rises, and whether step control has nothing against it."""
            end = replace(self, first_order=True)._leapfrog(target, start, root, step_size * shares)
            rises = end.energy() - before - rounding
            rises = jnp.where(self._within(target, start.particles, end.particles), rises, jnp.inf)
            gained = jnp.maximum(end.kinetic() - speed, 0.0)
            # A comparison with NaN, such as infinity less infinity, is false.
            return rises, rises - MARGIN * gained <= TOLERANCE * self.temperature

        def shrink(state: tuple) -> tuple:
            tries, shares, (_, passed) = state
            shares = jnp.where(passed, shares, SHRINK * shares)
            return tries + 1, shares, attempt(shares)

        shares = jnp.ones_like(before)
        rises, passed = attempt(shares)
        if self.step_control:
            _, shares, (rises, passed) = jax.lax.while_loop(
                lambda state: (state[0] < TRIES) & ~jnp.all(state[2][1]),
                shrink,
                (0, shares, (rises, passed)),
            )
            shares = jnp.where(passed, shares, 0.0)
        if self.metropolis:
            shares = jnp.where(rises <= -self.temperature * jnp.log(draws), shares, 0.0)
        return shares

    def _within(self, target: Target, start: PyTree, end: PyTree) -> Bool[Array, " M"]:
        """Whether a particle may go there: a wall that trajectories are refused at."""
        moves = jax.tree.map(jnp.subtract, end, start)
        inside = jax.tree.map(
            lambda move, bounded: jnp.all((move == bounded).reshape(move.shape[0], -1), axis=1),
            moves,
            target.bounded(moves, start),
        )
        return jax.tree.reduce(jnp.logical_and, inside)

    def _leapfrog(
        self, target: Target, start: Phase, root: PyTree, step_sizes: Float[Array, " M"]
    ) -> Phase:
        """The end of each particle's trajectory."""
        epsilon = jnp.sqrt(2.0 * step_sizes)

        def push(momentum: PyTree, scores: PyTree) -> PyTree:
            return sets.add(momentum, sets.scale(0.5 * epsilon, multiply(root, scores)))

        def leap(phase: Phase, _: None) -> tuple[Phase, None]:
            momentum = push(phase.momentum, phase.scores)
            particles = sets.add(phase.particles, sets.scale(epsilon, multiply(root, momentum)))
            log_densities, scores = self.scores(target, particles)
            return Phase(particles, push(momentum, scores), log_densities, scores), None

        return jax.lax.scan(leap, start, None, length=self.leapfrog_steps)[0]
