r"""Trust-region policy optimisation of the initial particles, through their adaptation.

Maximise the surrogate $L(\Theta_0) = E[\frac{\pi_{\Theta'}(a|o)}{\pi_{old}(a|o)}A]$ of the adapted
policies $\Theta' = \mathrm{adapt}(\Theta_0)$ within
$\mathrm{KL}(\pi_{old}\Vert\pi_{\Theta'})\le\delta$. The step is $x = F^{-1}\nabla L$ by conjugate
gradients, scaled to $\frac12 x^\top F x = \delta$ and shortened until the true surrogate rises and the
true divergence is within its bound.

$F = J^\top G J$, with the Jacobian J from initial particles to the adapted policies' outputs and the
Fisher metric G of those outputs. At the old parameters this is the exact Hessian of the divergence,
whose gradient vanishes there; a product costs one pass forward and one back, task by task.

Particles that adapt apart have a trust region each: M independent runs of MAML. Particles that
interact are one set of parameters with one region, for the mean divergence; or, with `apart` as in the
authors' code, each has a region and a surrogate of its own, and takes the others as they are.

Reference: Schulman et al. 2015; Finn et al. 2017; Algorithm 5 of Kim et al. 2018.
"""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from bmaml import particles as sets
from bmaml.rl.inner import PolicyGradient
from bmaml.rl.meta.conjugate_gradient import solve
from bmaml.rl.meta.trust_region import Problem, company_of
from bmaml.rl.meta.update import Average, MetaBatch, MetaUpdate, Report, alone
from bmaml.rl.policy import GaussianPolicy


@dataclass(frozen=True)
class TRPO(MetaUpdate):
    """One trust-region step.

    Arguments:
        divergence_bound: δ, the largest mean divergence of adapted policies.
        conjugate_gradient_steps: products with F.
        damping: added to the diagonal of F.
        shrink: the factor of the line search.
        tries: steps tried before giving up and staying.
        apart: whether particles that interact are optimised one by one.
    """

    divergence_bound: float = 0.01
    conjugate_gradient_steps: int = 10
    damping: float = 1e-5
    shrink: float = 0.8
    tries: int = 15
    apart: bool = False

    def init(self, initial: PyTree) -> tuple[()]:
        """Nothing is carried over."""
        return ()

    def update(
        self,
        policy: GaussianPolicy,
        inner: PolicyGradient,
        initial: PyTree,
        state: PyTree,
        batch: MetaBatch,
        *,
        average: Average = alone,
    ) -> tuple[PyTree, PyTree, Report]:
        """The step, or the particles as they were if none is good."""
        size = sets.count(initial)
        coupled = inner.couples and size > 1
        if coupled and not self.apart:
            problem = Problem.together(policy, inner, initial, batch)
            moved, report = self._step(problem, initial, average)
            return moved, state, report
        company = company_of(policy, inner, initial, batch) if coupled else ()

        def one(inputs: tuple[PyTree, MetaBatch, Int[Array, ""]]) -> tuple[PyTree, Report]:
            particle = jax.tree.map(lambda leaf: leaf[None], inputs[0])
            own = jax.tree.map(lambda leaf: leaf[:, None], inputs[1])
            if coupled:
                problem = Problem.of_one(policy, inner, company, inputs[2], particle, own)
            else:
                problem = Problem.together(policy, inner, particle, own)
            moved, report = self._step(problem, particle, average)
            return jax.tree.map(lambda leaf: leaf[0], moved), report

        by_particle = jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 1, 0), batch)
        moved, reports = jax.lax.map(one, (initial, by_particle, jnp.arange(size)))
        return moved, state, combine(reports)

    def _step(self, problem: Problem, initial: PyTree, average: Average) -> tuple[PyTree, Report]:
        (before, _), gradient = average(jax.value_and_grad(problem.loss, has_aux=True)(initial))

        def product(vector: PyTree) -> PyTree:
            curved = average(problem.curvature_product(initial, vector))
            return jax.tree.map(lambda one, two: one + self.damping * two, curved, vector)

        descent, curved = solve(product, gradient, self.conjugate_gradient_steps)
        curvature = jnp.sum(sets.inner_products(descent, curved))
        longest = jnp.sqrt(2.0 * self.divergence_bound / (curvature + 1e-8))
        step = jax.tree.map(lambda leaf: -longest * leaf, descent)
        moved, report = self._search(lambda these: average(problem.loss(these)), initial, step, before)
        # Of NaN no step is good; without this a run would stand still to its end.
        finite = report.finite & jnp.isfinite(jnp.sum(sets.inner_products(gradient, gradient)))
        return moved, report._replace(finite=finite)

    def _search(
        self,
        loss: Callable[[PyTree], tuple[Float[Array, ""], Float[Array, ""]]],
        initial: PyTree,
        step: PyTree,
        before: Float[Array, ""],
    ) -> tuple[PyTree, Report]:
        """Backtrack along `step`; NaN never passes a comparison."""

        def at(share: Float[Array, ""]) -> PyTree:
            return jax.tree.map(lambda leaf, move: leaf + share * move, initial, step)

        def trial(share: Float[Array, ""]) -> tuple[Array, Array, Bool[Array, ""]]:
            after, divergence = loss(at(share))
            return after, divergence, (after < before) & (divergence <= self.divergence_bound)

        def again(state: tuple) -> tuple:
            tries, share, _ = state
            return tries + 1, self.shrink * share, trial(self.shrink * share)

        first = jnp.ones((), before.dtype)
        _, share, (after, divergence, good) = jax.lax.while_loop(
            lambda state: (state[0] < self.tries) & ~state[2][2], again, (1, first, trial(first))
        )
        moved = jax.tree.map(lambda new, old: jnp.where(good, new, old), at(share), initial)
        report = Report(
            jnp.where(good, after, before),
            good.astype(before.dtype),
            jnp.where(good, divergence, 0.0),
            jnp.isfinite(before),
        )
        return moved, report


def combine(reports: Report) -> Report:
    """One report for particles that were optimised apart."""
    loss, accepted, divergence, finite = reports
    return Report(jnp.mean(loss), jnp.mean(accepted), jnp.mean(divergence), jnp.all(finite))
