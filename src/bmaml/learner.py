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
from bmaml.models.shared import SharedModel
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

    def __post_init__(self) -> None:
        if isinstance(self.posterior.model, SharedModel) and not self.meta.trains_shared:
            raise ValueError(
                f"{type(self.meta).__name__} trains only what adaptation moves, and would leave the "
                "shared part of this model as it was drawn: use a model that shares nothing."
            )

    def init(self, key: Key[Array, ""], example: Array) -> PyTree:
        """M initial particles; `example` is a batch of inputs."""
        model = self.posterior.model
        if not isinstance(model, SharedModel):
            return sets.make(lambda one: self.posterior.init(one, example), key, self.num_particles)
        shared_key, own_key = jax.random.split(key)
        own = sets.make(lambda one: self.posterior.init(one, example), own_key, self.num_particles)
        return sets.Shared(model.init_shared(shared_key, example), own)

    def meta_loss(
        self, initial: PyTree, tasks: Task, *, key: Key[Array, ""] | None = None
    ) -> Float[Array, ""]:
        """The meta-objective summed over stacked tasks."""

        def loss(task: Task, task_key: Key[Array, ""] | None) -> Float[Array, ""]:
            posterior, own, task = self._encoded(initial, task)
            return self.meta.loss(posterior, self.inner, own, task, key=task_key)

        keys = None if key is None else jax.random.split(key, tasks.support.x.shape[0])
        return jnp.sum(jax.vmap(loss, in_axes=(0, None if keys is None else 0))(tasks, keys))

    def adapt(
        self,
        initial: PyTree,
        support: Data,
        *,
        steps: int | None = None,
        query_x: Array | None = None,
        key: Key[Array, ""] | None = None,
    ) -> PyTree:
        """The particles of one task's posterior after `steps` inner updates (None: as trained).

        `query_x` matters only to a transductive model, which normalises support and query together.
        """
        model = self.posterior.model
        if not isinstance(model, SharedModel):
            target = self.posterior.target(support)
            return self.inner.run(target, initial, steps=steps, key=key)
        rows = support.x.shape[0]
        if model.transductive:
            if query_x is None:
                raise ValueError(
                    "This model normalises support and query together: give the query inputs as "
                    "`query_x` when adapting, or choose another normalisation."
                )
            together = jnp.concatenate([support.x, query_x], axis=0)
            encoded, statistics = model.encode(initial.shared, together, None)
            encoded = encoded[:rows]
        else:
            encoded, statistics = model.encode(initial.shared, support.x, None)
        target = self.posterior.bind(initial.shared).target(Data(encoded, support.y))
        own = self.inner.run(target, initial.own, steps=steps, key=key)
        return sets.Shared(initial.shared, own, statistics)

    def predict(self, particles: PyTree, x: Array) -> Any:
        """The predictive mixture at `x`; its kind depends on the likelihood."""
        posterior = self.posterior
        if isinstance(posterior.model, SharedModel):
            x, _ = posterior.model.encode(particles.shared, x, particles.statistics)
            posterior, particles = posterior.bind(particles.shared), particles.own
        outputs = posterior.outputs(particles, x)
        return posterior.likelihood.prediction(particles.likelihood, outputs)

    def _encoded(self, initial: PyTree, task: Task) -> tuple[Posterior, PyTree, Task]:
        """What a meta-objective works on: shared weights fixed, and every row encoded once."""
        model = self.posterior.model
        if not isinstance(model, SharedModel):
            return self.posterior, initial, task
        support, query = task
        rows = support.x.shape[0]
        together = support.join(query).x
        # The shapes tell whether rows are normalised by others; if not, one pass does for all.
        like = jax.eval_shape(model.encode, initial.shared, together, None)[1]
        if model.transductive or not jax.tree.leaves(like):
            encoded, _ = model.encode(initial.shared, together, None)
            of_support, of_query = encoded[:rows], encoded[rows:]
        else:
            of_support, statistics = model.encode(initial.shared, support.x, None)
            of_query, _ = model.encode(initial.shared, query.x, statistics)
        encoded_task = Task(Data(of_support, support.y), Data(of_query, query.y))
        return self.posterior.bind(initial.shared), initial.own, encoded_task
