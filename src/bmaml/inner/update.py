"""The contract of fast adaptation: particles in, particles nearer to the posterior out."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml import particles as sets
from bmaml.checks import require_counts, require_positive, require_whole
from bmaml.inner import step_control


class Target(NamedTuple):
    """What an inner update climbs.

    `log_density(particle)` is log p(θ | D) of one particle up to a constant. `step_scales(particle)`
    is a tree prefix of a particle with factors on the step of each part: precisions move in smaller
    steps than weights. `bound(move, particle, start)` shortens what may not lead any farther from
    where a run began; nothing, unless said otherwise. `start` is where the particles of a run under
    way began.
    """

    log_density: Callable[[PyTree], Float[Array, ""]]
    step_scales: Callable[[PyTree], PyTree]
    bound: Callable[[PyTree, PyTree, PyTree], PyTree] = lambda move, particle, start: move
    start: PyTree = None

    def bounded(self, moves: PyTree, particles: PyTree) -> PyTree:
        """Moves that lead no farther than particles may go."""
        return moves if self.start is None else jax.vmap(self.bound)(moves, particles, self.start)


@dataclass(frozen=True)
class InnerUpdate(ABC):
    r"""`steps` moves of size `step_size` (the paper's n and α).

    A member defines the direction of a move; what is common lives here. With `first_order` the
    meta-gradient takes the scores as constants (as in FOMAML). With `step_control` each particle's move
    is shortened when it would overshoot (see `step_control`), so that adapting for many more steps
    than trained stays stable.

    With `learned_steps` the meta-update also trains a factor $e^\rho$ on the step of each parameter,
    the same in all particles: $\theta \leftarrow \theta + \alpha\,e^\rho\odot\phi(\theta)$. That is
    Meta-SGD's update (Li et al. 2017), but for the logarithm, which keeps steps positive. To a sampler
    the factors are part of its metric.
    """

    step_size: float = 0.01
    steps: int = 1
    first_order: bool = False
    step_control: bool = True
    learned_steps: bool = field(default=False, kw_only=True)
    # The values of what is learned, by name; see `bind`.
    variables: dict[str, Any] = field(default_factory=dict, repr=False, compare=False, kw_only=True)

    def __post_init__(self) -> None:
        require_positive(step_size=self.step_size)
        require_counts(steps=self.steps)

    @property
    def learns(self) -> bool:
        """Whether the meta-update trains a part of this update."""
        return self.learned_steps

    def init(self, particles: PyTree) -> dict[str, Any]:
        """The first values of what the meta-update trains of this update; usually nothing."""
        if not self.learned_steps:
            return {}
        return {"log_steps": jax.tree.map(lambda leaf: jnp.zeros_like(leaf[0]), particles)}

    def bind(self, variables: dict[str, Any]) -> "InnerUpdate":
        """This update with the values that the meta-update has found; without, it has the first."""
        return replace(self, variables=variables)

    def tune(self, moves: PyTree) -> PyTree:
        """Every parameter of a set times its learned factor."""
        if "log_steps" not in self.variables:
            return moves
        return jax.tree.map(
            lambda leaf, log_step: leaf * jnp.exp(log_step)[None], moves, self.variables["log_steps"]
        )

    @abstractmethod
    def direction(self, particles: PyTree, scores: PyTree) -> PyTree:
        """The direction of every particle's move, given all scores ∇ log p(θᵐ)."""

    def pool_scales(self, scales: PyTree) -> PyTree:
        """The particles' step scales; members whose particles interact make them one."""
        return scales

    def step(
        self, target: Target, particles: PyTree, step_size: float, key: Key[Array, ""] | None
    ) -> PyTree:
        """One move of the whole set. `key` is for members that draw noise."""
        log_densities, scores = jax.vmap(jax.value_and_grad(target.log_density))(particles)
        if self.first_order:
            scores = jax.lax.stop_gradient(scores)
        moves = self.direction(particles, scores)
        scales = self.pool_scales(jax.vmap(target.step_scales)(particles))
        moves = jax.tree.map(lambda factor, part: sets.scale(step_size * factor, part), scales, moves)
        moves = target.bounded(self.tune(moves), particles)
        if self.step_control:
            shares = step_control.share_of_move(
                target.log_density, particles, log_densities, scores, moves
            )
            moves = step_control.take(shares, moves)
        return sets.add(particles, moves)

    def run(
        self,
        target: Target,
        particles: PyTree,
        *,
        steps: int | None = None,
        step_size: float | None = None,
        key: Key[Array, ""] | None = None,
    ) -> PyTree:
        """Move the set `steps` times."""
        steps = self.steps if steps is None else steps
        require_whole(steps=steps)
        step_size = self.step_size if step_size is None else step_size
        if steps == 0:
            return particles
        target = target._replace(start=particles)

        def move(particles: PyTree, index: Array | int) -> PyTree:
            step_key = None if key is None else jax.random.fold_in(key, index)
            return self.step(target, particles, step_size, step_key)

        # The first step stands outside the loop: under vmap over tasks its particles are the same for
        # all tasks, and what depends on them alone is then computed once.
        particles = move(particles, 0)
        if steps == 1:
            return particles
        particles, _ = jax.lax.scan(
            lambda current, index: (move(current, index), None),
            particles,
            jnp.arange(1, steps),
        )
        return particles
