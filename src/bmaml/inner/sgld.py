"""Langevin dynamics: gradient ascent with the noise that makes it a sampler."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key, PyTree

from bmaml import particles as sets
from bmaml.inner import step_control
from bmaml.inner.sampler import Sampler, multiply, roots, standard_normal
from bmaml.inner.update import Target


@dataclass(frozen=True)
class SGLD(Sampler):
    r"""$\theta \leftarrow \theta + \alpha P\,\nabla\log p(\theta) + \sqrt{2\alpha TP}\,\xi$, ξ normal.

    Eq. 3 of Welling and Teh 2011 with $\epsilon = 2\alpha$, so that a step size means what it means to
    gradient descent, which this is at temperature T = 0. A minibatch is all rows of a task: there are
    few. Its stationary distribution differs from the posterior by O(α), since no
    step is rejected; on a Gaussian its variance is too large by the factor 1/(1 − αP/2σ²).

    Step control looks at the drift alone: where it would overshoot, the particle takes a step of a
    smaller size, noise included. Noise itself may lead downhill, as it must.
    """

    def step(
        self, target: Target, particles: PyTree, step_size: float, key: Key[Array, ""] | None
    ) -> PyTree:
        """One step of every chain."""
        log_densities, scores = self.scores(target, particles)
        metric = self.metric_at(target, particles)
        drift = multiply(metric, jax.tree.map(lambda leaf: step_size * leaf, scores))
        drift = target.bounded(drift, particles)
        shares = jnp.ones_like(log_densities)
        if self.step_control:
            shares = step_control.share_of_move(
                target.log_density, particles, log_densities, scores, drift
            )
        spread = jnp.sqrt(2.0 * step_size * self.temperature * shares)
        noise = multiply(roots(metric), standard_normal(key, particles))
        return sets.add(
            particles, sets.add(step_control.take(shares, drift), sets.scale(spread, noise))
        )
