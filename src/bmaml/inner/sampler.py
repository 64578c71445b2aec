"""What inner updates that draw noise have in common."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.inner.update import InnerUpdate, Target
from bmaml.predictive.square_root import square_root


@dataclass(frozen=True)
class Sampler(InnerUpdate):
    r"""A Markov chain for each particle, towards $p(\theta\mid D)^{1/T}$ with the `temperature` T.

    Samples are differentiable: noise is a function of the key alone, scaled and shifted by what is
    trained. Without a key the same noise is drawn every time.

    The step scales of the posterior are the chain's metric $P$, a positive diagonal: noise and momentum
    are drawn in the metric that the score is preconditioned with, without which chains would lead
    elsewhere. The metric is taken where a run begins and held to its end. A metric that followed the
    particle would have to pay for it, Langevin's by a drift $\nabla\cdot P$ and Hamilton's by implicit
    steps; and it hardly moves, since scales depend on precisions, which move in small steps.
    """

    temperature: float = 1.0
    # The metric of a run under way; see `run`.
    metric: PyTree = field(default=None, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.temperature < 0:
            raise ValueError(f"The temperature is {self.temperature}; it must not be negative.")

    def direction(self, particles: PyTree, scores: PyTree) -> PyTree:
        """The scores: chains do not interact."""
        return scores

    def run(
        self,
        target: Target,
        particles: PyTree,
        *,
        steps: int | None = None,
        step_size: float | None = None,
        key: Key[Array, ""] | None = None,
    ) -> PyTree:
        """Move the set `steps` times, in one metric."""
        chains = replace(self, metric=self.metric_at(target, particles))
        key = jax.random.key(0) if key is None else key
        return super(Sampler, chains).run(target, particles, steps=steps, step_size=step_size, key=key)

    def metric_at(self, target: Target, particles: PyTree) -> PyTree:
        """P for every particle, in the structure of the set; a run's, if one is under way."""
        if self.metric is not None:
            return self.metric
        scales = jax.vmap(target.step_scales)(particles)
        metric = jax.tree.map(
            lambda factor, part: jax.tree.map(
                lambda leaf: factor.reshape((-1,) + (1,) * (leaf.ndim - 1)), part
            ),
            scales,
            particles,
        )
        return self.tune(metric)

    def scores(self, target: Target, particles: PyTree) -> tuple[Float[Array, " M"], PyTree]:
        """log p(θᵐ) and its gradient for every particle."""
        log_densities, scores = jax.vmap(jax.value_and_grad(target.log_density))(particles)
        return log_densities, jax.lax.stop_gradient(scores) if self.first_order else scores


def roots(metric: PyTree) -> PyTree:
    r"""$P^{1/2}$; a part of the particle that does not move has the scale zero."""
    return jax.tree.map(square_root, metric)


def standard_normal(key: Key[Array, ""] | None, particles: PyTree) -> PyTree:
    """Independent noise in the shape of a set."""
    leaves, structure = jax.tree.flatten(particles)
    keys = jax.random.split(jax.random.key(0) if key is None else key, len(leaves))
    noise = [jax.random.normal(k, leaf.shape, leaf.dtype) for k, leaf in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, noise)


def multiply(left: PyTree, right: PyTree) -> PyTree:
    """Leafwise product."""
    return jax.tree.map(jnp.multiply, left, right)
