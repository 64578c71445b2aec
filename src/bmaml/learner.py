"""A meta-learner: posterior × inner update × meta-objective."""

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key, PyTree

from bmaml import particles as sets
from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Data, Task


@dataclass(frozen=True)
class MetaOptimizer:
    """Adam, and how its step size decays: by `decay` every 1 % of training (1: not at all)."""

    step_size: float = 1e-3
    decay: float = 1.0

    def build(self, total_steps: int) -> optax.GradientTransformation:
        """The optax transformation for a training of `total_steps` meta-updates."""
        if self.decay == 1.0:
            return optax.adam(self.step_size)
        every = max(1, total_steps // 100)
        return optax.adam(optax.exponential_decay(self.step_size, every, self.decay, staircase=True))


@dataclass(frozen=True)
class Learner:
    """All functions are pure: they work under your own `jit`, `vmap` and `grad`."""

    posterior: Posterior
    inner: InnerUpdate
    meta: MetaObjective
    num_particles: int = 1
    optimizer: MetaOptimizer = field(default_factory=MetaOptimizer)
    name: str = "custom"

    def init(self, key: Key[Array, ""], example: Array) -> PyTree:
        """M initial particles; `example` is a batch of inputs."""
        return sets.make(lambda one: self.posterior.init(one, example), key, self.num_particles)

    def meta_loss(
        self, initial: PyTree, tasks: Task, *, key: Key[Array, ""] | None = None
    ) -> Float[Array, ""]:
        """The meta-objective summed over stacked tasks."""

        def loss(task: Task, task_key: Key[Array, ""] | None) -> Float[Array, ""]:
            return self.meta.loss(self.posterior, self.inner, initial, task, key=task_key)

        keys = None if key is None else jax.random.split(key, tasks.support.x.shape[0])
        return jnp.sum(jax.vmap(loss, in_axes=(0, None if keys is None else 0))(tasks, keys))

    def adapt(
        self,
        initial: PyTree,
        support: Data,
        *,
        steps: int | None = None,
        key: Key[Array, ""] | None = None,
    ) -> PyTree:
        """The particles of one task's posterior after `steps` inner updates (None: as trained)."""
        return self.inner.run(self.posterior.target(support), initial, steps=steps, key=key)

    def predict(self, particles: PyTree, x: Array) -> Any:
        """The predictive mixture at `x`; its kind depends on the likelihood."""
        outputs = self.posterior.outputs(particles, x)
        return self.posterior.likelihood.prediction(particles.likelihood, outputs)
