"""Surrogate, divergence and curvature of adapted policies as functions of what they were adapted from.

A problem is that of all particles together, or that of one particle with the others held still.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from bmaml.rl.advantages import Experience
from bmaml.rl.gaussian import Gaussian
from bmaml.rl.inner import PolicyGradient
from bmaml.rl.meta.update import MetaBatch
from bmaml.rl.policy import GaussianPolicy


class Company(NamedTuple):
    """All particles and their scores before one inner step; leading axes of task and particle."""

    particles: PyTree
    scores: PyTree


class Problem(NamedTuple):
    """One set of particles on one batch of tasks.

    `outputs(particles, task)` is what the adapted particles would do at the steps they played in one
    of the stacked `tasks`, `query` those steps, and `old` what they did; leading axes of task and
    particle.
    """

    outputs: Callable[[PyTree, PyTree], Gaussian]
    tasks: PyTree
    query: Experience
    old: Gaussian

    @classmethod
    def together(
        cls, policy: GaussianPolicy, inner: PolicyGradient, initial: PyTree, batch: MetaBatch
    ) -> "Problem":
        """Leave `initial`, all particles at once."""

        def outputs(particles: PyTree, task: MetaBatch) -> Gaussian:
            adapted = inner.run(policy, particles, task.support)
            return jax.lax.map(lambda one: policy.apply(*one), (adapted, task.query.observations))

        return cls._leaving(outputs, initial, batch, batch.query)

    @classmethod
    def of_one(
        cls,
        policy: GaussianPolicy,
        inner: PolicyGradient,
        company: tuple[Company, ...],
        index: Int[Array, ""],
        particle: PyTree,
        batch: MetaBatch,
    ) -> "Problem":
        """Leave `particle`, the one at `index`, while its company does as it did.

        The axis of particles has one entry, in `particle` and in `batch`.
        """

        def outputs(own: PyTree, task: tuple[MetaBatch, tuple[Company, ...]]) -> Gaussian:
            played, others = task
            own = _first(own)
            for rows, (particles, scores) in zip(played.support, others, strict=True):
                score = inner.score(policy, own, _first(rows))
                moved = inner.move(_put(particles, index, own), _put(scores, index, score))
                own = jax.tree.map(lambda leaf: leaf[index], moved)
            gaussian = policy.apply(own, played.query.observations[0])
            return jax.tree.map(lambda leaf: leaf[None], gaussian)

        return cls._leaving(outputs, particle, (batch, company), batch.query)

    @classmethod
    def _leaving(
        cls,
        outputs: Callable[[PyTree, PyTree], Gaussian],
        initial: PyTree,
        tasks: PyTree,
        query: Experience,
    ) -> "Problem":
        old = jax.lax.map(lambda task: outputs(initial, task), tasks)
        return cls(outputs, tasks, query, jax.lax.stop_gradient(old))

    def loss(self, initial: PyTree) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """The negative surrogate and the divergence, means over tasks and particles."""

        # Recomputed when differentiated: memory is that of one task.
        @jax.checkpoint
        def of_task(
            inputs: tuple[PyTree, Experience, Gaussian],
        ) -> tuple[Float[Array, ""], Float[Array, ""]]:
            task, rows, old = inputs
            losses, divergences = jax.vmap(surrogate)(old, self.outputs(initial, task), rows)
            return jnp.mean(losses), jnp.mean(divergences)

        losses, divergences = jax.lax.map(of_task, (self.tasks, self.query, self.old))
        return jnp.mean(losses), jnp.mean(divergences)

    def curvature_product(self, initial: PyTree, vector: PyTree) -> PyTree:
        """F times a vector of the shape of the particles."""

        def of_task(total: PyTree, inputs: tuple[PyTree, Experience]) -> tuple[PyTree, None]:
            task, rows = inputs
            played, pushforward = jax.linearize(lambda these: self.outputs(these, task), initial)
            metric = jax.vmap(Gaussian.metric)(played, pushforward(vector), rows.weights)
            (pulled,) = jax.linear_transpose(pushforward, initial)(metric)
            return jax.tree.map(jnp.add, total, pulled), None

        zero = jax.tree.map(jnp.zeros_like, vector)
        total, _ = jax.lax.scan(of_task, zero, (self.tasks, self.query))
        tasks, size = self.query.weights.shape[:2]
        return jax.tree.map(lambda leaf: leaf / (tasks * size), total)


def company_of(
    policy: GaussianPolicy, inner: PolicyGradient, initial: PyTree, batch: MetaBatch
) -> tuple[Company, ...]:
    """What all particles were and felt before each inner step, in every task."""

    def of_task(support: tuple[Experience, ...]) -> tuple[Company, ...]:
        steps, particles = [], initial
        for rows in support:
            steps.append(Company(particles, inner.scores(policy, particles, rows)))
            particles = inner.move(*steps[-1])
        return tuple(steps)

    return jax.lax.stop_gradient(jax.lax.map(of_task, batch.support))


def surrogate(
    old: Gaussian, new: Gaussian, rows: Experience
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """The negative importance-weighted advantage and the mean divergence of one particle."""
    ratios = jnp.exp(new.log_density(rows.actions) - old.log_density(rows.actions))
    loss = -jnp.sum(rows.weights * rows.advantages * ratios)
    return loss, rows.weights @ old.divergence(new)


def _first(tree: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[0], tree)


def _put(particles: PyTree, index: Int[Array, ""], one: PyTree) -> PyTree:
    """The set with another particle at `index`."""
    return jax.tree.map(lambda leaf, new: leaf.at[index].set(new), particles, one)
