"""log p(θ | D): a model, a likelihood and a prior."""

import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.inner.update import Target
from bmaml.models.model import Model
from bmaml.models.shared import SharedModel
from bmaml.posterior.likelihood import Likelihood
from bmaml.posterior.particle import Particle
from bmaml.posterior.prior import Prior
from bmaml.tasks.task import Data

# Of the logarithm of a precision, by the rows of one task: to noise of three times what was learned, or
# of a third. Rows far outside what training saw would drive it anywhere, and with it the prior and the
# particles' repulsion, which are weighed against it.
LARGEST_CHANGE = math.log(9.0)


@dataclass(frozen=True)
class Posterior:
    """The target of fast adaptation, written for one particle.

    With a `SharedModel` it is over each particle's own weights; `bind` fixes the shared ones.
    """

    model: Model | SharedModel
    likelihood: Likelihood
    prior: Prior

    def init(self, key: Key[Array, ""], example: Array) -> Particle:
        """One fresh particle."""
        draw = self.model.init_own if isinstance(self.model, SharedModel) else self.model.init
        weights = draw(key, example)
        return Particle(weights, self.likelihood.init(), self.prior.init())

    def bind(self, shared: PyTree) -> "Posterior":
        """The posterior of what particles own, given what they share; its inputs are encoded rows."""
        model = self.model
        assert isinstance(model, SharedModel)
        return replace(
            self, model=Model(model.init_own, lambda own, encoded: model.apply(shared, own, encoded))
        )

    def log_likelihood(self, particle: Particle, data: Data) -> Float[Array, ""]:
        """log p(D | θ), a sum over the rows of D."""
        outputs = self._apply(particle.weights, data.x)
        return self.likelihood.log_prob(particle.likelihood, outputs, data.y, data.mask)

    def validation_loss(self, particle: Particle, data: Data) -> Float[Array, ""]:
        """The loss of one particle on held-out rows of its task."""
        outputs = self._apply(particle.weights, data.x)
        return self.likelihood.validation_loss(particle.likelihood, outputs, data.y, data.mask)

    def noise_log_likelihood(self, particle: Particle, data: Data) -> Float[Array, ""]:
        """What predictions say of D, to the likelihood's own variables; the network is a constant."""
        outputs = jax.lax.stop_gradient(self._apply(particle.weights, data.x))
        return self.likelihood.predictive_log_prob(particle.likelihood, outputs, data.y, data.mask)

    def log_density(self, particle: Particle, data: Data) -> Float[Array, ""]:
        """log p(θ | D) up to a constant, with the hyperpriors of the precisions."""
        return (
            self.log_likelihood(particle, data)
            + self.likelihood.log_hyperprior(particle.likelihood)
            + self.prior.log_prob(particle.prior, particle.weights)
        )

    def step_scales(self, particle: Particle) -> Particle:
        """Factors on the inner step of each part of a particle."""
        unit = jnp.asarray(self.likelihood.step_unit(particle.likelihood))
        return Particle(unit, self.likelihood.step_scale * unit, self.prior.step_scale * unit)

    def target(self, data: Data) -> Target:
        """This posterior given `data`, as an inner update wants it."""
        return Target(lambda particle: self.log_density(particle, data), self.step_scales, self.bound)

    def bound(self, move: Particle, particle: Particle, start: Particle) -> Particle:
        """A move that leaves precisions within `LARGEST_CHANGE` of those of `start`."""

        def near(step: Array, now: Array, first: Array) -> Array:
            return jnp.clip(step, first - LARGEST_CHANGE - now, first + LARGEST_CHANGE - now)

        return move._replace(
            likelihood=jax.tree.map(near, move.likelihood, particle.likelihood, start.likelihood),
            prior=jax.tree.map(near, move.prior, particle.prior, start.prior),
        )

    def outputs(self, particles: PyTree, x: Array) -> Float[Array, "M ..."]:
        """The network's outputs for every particle of a set."""
        return jax.vmap(self._apply, in_axes=(0, None))(particles.weights, x)

    def _apply(self, weights: PyTree, x: Array) -> Array:
        if isinstance(self.model, SharedModel):
            raise TypeError("A posterior over a shared model must be bound to its shared weights.")
        return self.model.apply(weights, x)
