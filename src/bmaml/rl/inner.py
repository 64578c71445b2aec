r"""Fast adaptation by policy gradients: VPG, and SVPG as SVGD fed with $\nabla J/\eta$.

The score of a particle comes from its own episodes, so there is no common log density; what moves
the particles, given their scores, is the library's inner update.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from bmaml.inner import SVGD, GradientDescent, InnerUpdate
from bmaml.kernels import Kernel, rbf
from bmaml.rl.advantages import Experience
from bmaml.rl.policy import GaussianPolicy


@dataclass(frozen=True)
class PolicyGradient:
    r"""$\theta^m \leftarrow \theta^m + \alpha\,\phi(\theta^m)$, φ an inner update's direction.

    Arguments:
        update: `GradientDescent` makes it VPG, `SVGD` SVPG; its step size is α. What it says of step
            control is not heard: a return is only known by playing.
        temperature: η, the weight of the entropy of the particles against their returns. One
            particle has no entropy, and its SVPG is VPG with steps of α/η.
    """

    update: InnerUpdate
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if not self.temperature > 0:
            raise ValueError(f"temperature is {self.temperature}; it must be positive.")

    @property
    def couples(self) -> bool:
        """Whether particles take part in each other's moves."""
        return isinstance(self.update, SVGD)

    def score(self, policy: GaussianPolicy, particle: PyTree, rows: Experience) -> PyTree:
        """What drives one particle."""
        gradient = jax.grad(expected_return, argnums=1)(policy, particle, rows)
        factor = 1.0 / self.temperature if self.couples else 1.0
        scores = jax.tree.map(lambda leaf: factor * leaf, gradient)
        return jax.lax.stop_gradient(scores) if self.update.first_order else scores

    def scores(self, policy: GaussianPolicy, particles: PyTree, rows: Experience) -> PyTree:
        """The scores of all particles, by the experience of each (a leading particle axis)."""
        # One particle after the other: its matrices fill a core, and memory is that of one.
        return jax.lax.map(lambda one: self.score(policy, one[0], one[1]), (particles, rows))

    def move(self, particles: PyTree, scores: PyTree, step_size: float | None = None) -> PyTree:
        """Move all particles once, given their scores."""
        size = self.update.step_size if step_size is None else step_size
        moves = self.update.direction(particles, scores)
        return jax.tree.map(lambda leaf, move: leaf + size * move, particles, moves)

    def step(
        self,
        policy: GaussianPolicy,
        particles: PyTree,
        rows: Experience,
        *,
        step_size: float | None = None,
    ) -> PyTree:
        """Move all particles once, by the experience of each."""
        return self.move(particles, self.scores(policy, particles, rows), step_size)

    def run(self, policy: GaussianPolicy, particles: PyTree, batches: tuple[Experience, ...]) -> PyTree:
        """One step for each batch, which was played by the particles as they were before it."""
        for rows in batches:
            particles = self.step(policy, particles, rows)
        return particles


def expected_return(policy: GaussianPolicy, particle: PyTree, rows: Experience) -> Float[Array, ""]:
    r"""$\frac1N\sum_i \log\pi_\theta(a_i\mid o_i)\,A_i$, whose gradient is the policy gradient."""
    log_densities = policy.apply(particle, rows.observations).log_density(rows.actions)
    return jnp.sum(rows.weights * rows.advantages * log_densities)


def vpg(step_size: float = 0.1, *, first_order: bool = False) -> PolicyGradient:
    """Vanilla policy gradient, particles apart: MAML's and EMAML's inner update."""
    return PolicyGradient(GradientDescent(step_size, first_order=first_order))


def svpg(
    step_size: float = 0.1,
    *,
    temperature: float = 1.0,
    kernel: Kernel | None = None,
    first_order: bool = False,
) -> PolicyGradient:
    """Stein variational policy gradient (Liu et al. 2017): particles climb together and keep apart."""
    kernel = rbf() if kernel is None else kernel
    return PolicyGradient(SVGD(step_size, first_order=first_order, kernel=kernel), temperature)
