"""A meta-learner: posterior × inner update × meta-objective."""

from dataclasses import dataclass, field, fields, is_dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Key, PyTree

from bmaml import particles as sets
from bmaml.checks import require_counts, require_positive
from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.models.shared import SharedModel, encode_task
from bmaml.posterior.particle import Particle
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Data, Task


@dataclass(frozen=True)
class MetaOptimizer:
    """Adam, and how its step size decays: by `decay` every 1 % of training (1: not at all).

    Where nothing but the noise level depends on the noise level, it may go `noise_factor` times
    faster: Adam moves the logarithm of a precision by about a step size an update, and would take
    thousands of updates to find noise of a tenth of the targets' spread.
    """

    step_size: float = 1e-3
    decay: float = 1.0
    noise_factor: float = 1.0

    def __post_init__(self) -> None:
        require_positive(step_size=self.step_size, decay=self.decay, noise_factor=self.noise_factor)

    def build(self, total_steps: int) -> optax.GradientTransformation:
        """The optax transformation for a training of `total_steps` meta-updates."""
        size: Any = self.step_size
        if self.decay != 1.0:
            every = max(1, total_steps // 100)
            size = optax.exponential_decay(self.step_size, every, self.decay, staircase=True)
        return optax.chain(optax.adam(size), optax.stateless(self._hurry_noise))

    def _hurry_noise(self, updates: PyTree, _: PyTree) -> PyTree:
        if isinstance(updates, sets.Tuned):  # What is learned of a particle's steps is no particle.
            return updates._replace(particles=self._hurry_noise(updates.particles, _))

        def hurry(part: Any) -> Any:
            if not isinstance(part, Particle):
                return part
            faster = jax.tree.map(lambda leaf: self.noise_factor * leaf, part.likelihood)
            return part._replace(likelihood=faster)

        return jax.tree.map(hurry, updates, is_leaf=lambda part: isinstance(part, Particle))


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
        require_counts(num_particles=self.num_particles)
        if isinstance(self.posterior.model, SharedModel) and not self.meta.trains_shared:
            raise ValueError(
                f"{type(self.meta).__name__} trains only what adaptation moves, and would leave the "
                "shared part of this model as it was drawn: use a model that shares nothing."
            )
        if self.inner.learns and not self.meta.trains_shared:
            raise ValueError(
                f"{type(self.meta).__name__} trains only what adaptation moves, and nothing of how it "
                "moves: use an inner update without learned steps or bandwidths."
            )

    def describe(self) -> dict[str, Any]:
        """All settings but the model's, as plain values: what a resumed training must have again."""
        parts = {"likelihood": self.posterior.likelihood, "prior": self.posterior.prior}
        parts |= {"inner": self.inner, "meta": self.meta, "optimizer": self.optimizer}
        return {"name": self.name, **{name: _plain(part) for name, part in parts.items()}}

    def init(self, key: Key[Array, ""], example: Array) -> PyTree:
        """M initial particles; `example` is a batch of inputs.

        They are `particles.Shared` if the model is, and `particles.Tuned` if the inner update learns.
        """
        model = self.posterior.model
        shared_key, own_key = jax.random.split(key) if isinstance(model, SharedModel) else (key, key)
        own = sets.make(lambda one: self.posterior.init(one, example), own_key, self.num_particles)
        particles: PyTree = own
        if isinstance(model, SharedModel):
            particles = sets.Shared(model.init_shared(shared_key, example), own)
        return sets.Tuned(particles, self.inner.init(own)) if self.inner.learns else particles

    def tuned(self, initial: PyTree) -> tuple[InnerUpdate, PyTree]:
        """The inner update as the meta-update has tuned it, and the particles without its variables."""
        if not self.inner.learns:
            return self.inner, initial
        if not isinstance(initial, sets.Tuned):
            raise ValueError(
                "The inner update has learned steps or bandwidths, which these particles lack: adapt "
                "from what `init` or a training returned, not from particles that were adapted before."
            )
        return self.inner.bind(initial.inner), initial.particles

    def meta_loss(
        self,
        initial: PyTree,
        tasks: Task,
        *,
        key: Key[Array, ""] | Key[Array, " tasks"] | None = None,
    ) -> Float[Array, ""]:
        """The meta-objective summed over stacked tasks; `key` is one, or one for each task."""
        inner, initial = self.tuned(initial)
        posterior, own, tasks = self.encode(initial, tasks)

        def loss(task: Task, task_key: Key[Array, ""] | None) -> Float[Array, ""]:
            return self.meta.loss(posterior, inner, own, task, key=task_key)

        keys = (
            jax.random.split(key, tasks.support.y.shape[0]) if key is not None and not key.ndim else key
        )
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
        inner, initial = self.tuned(initial)
        model = self.posterior.model
        if not isinstance(model, SharedModel):
            target = self.posterior.target(support)
            return inner.run(target, initial, steps=steps, key=key)
        if not model.transductive:
            encoded, statistics = model.encode(initial.shared, support.x, None)
        elif query_x is not None:
            encoded, _, statistics = encode_task(model, initial.shared, support.x, query_x)
        else:
            raise ValueError(
                "This model normalises support and query together: give the query inputs as "
                "`query_x` when adapting, or choose another normalisation."
            )
        target = self.posterior.bind(initial.shared).target(support._replace(x=encoded))
        own = inner.run(target, initial.own, steps=steps, key=key)
        return sets.Shared(initial.shared, own, statistics)

    def predict(self, particles: PyTree, x: Array) -> Any:
        """The predictive mixture at `x`; its kind depends on the likelihood."""
        posterior = self.posterior
        if isinstance(particles, sets.Tuned):  # before adaptation
            particles = particles.particles
        if isinstance(posterior.model, SharedModel):
            x, _ = posterior.model.encode(particles.shared, x, particles.statistics)
            posterior, particles = posterior.bind(particles.shared), particles.own
        outputs = posterior.outputs(particles, x)
        return posterior.likelihood.prediction(particles.likelihood, outputs)

    def sharpen(self, initial: PyTree, log_factor: Float[Array, ""]) -> PyTree:
        """Initial particles whose predictions are `sharpened` by that much.

        Where adaptation depends on the noise level, it does so on the sharpened one.
        """
        if isinstance(initial, sets.Tuned):
            return initial._replace(particles=self.sharpen(initial.particles, log_factor))
        if isinstance(initial, sets.Shared):
            return initial._replace(own=self.sharpen(initial.own, log_factor))
        sharper = self.posterior.likelihood.sharpen(initial.likelihood, log_factor)
        return initial._replace(likelihood=sharper)

    def encode(self, initial: PyTree, tasks: Task) -> tuple[Posterior, PyTree, Task]:
        """What a meta-objective works on: shared weights fixed, and every row of every task encoded.

        For a model that shares nothing these are the posterior, the particles and the tasks as given.
        """
        model = self.posterior.model
        if not isinstance(model, SharedModel):
            return self.posterior, initial, tasks
        support, query = tasks
        together = jnp.concatenate([support.x, query.x], axis=1)
        if jax.tree.leaves(jax.eval_shape(model.encode, initial.shared, together[0], None)[1]):
            each = partial(encode_task, model, initial.shared)
            of_support, of_query, _ = jax.vmap(each)(support.x, query.x)
        else:
            # Rows do not depend on each other: one pass for all tasks is faster than one for each.
            encoded, _ = model.encode(initial.shared, together.reshape(-1, *together.shape[2:]), None)
            encoded = encoded.reshape(*together.shape[:2], *encoded.shape[1:])
            of_support, of_query = jnp.split(encoded, [support.y.shape[1]], axis=1)
        encoded_tasks = Task(support._replace(x=of_support), query._replace(x=of_query))
        return self.posterior.bind(initial.shared), initial.own, encoded_tasks


def _plain(part: Any) -> Any:
    """A part of a learner as values for a JSON file; functions by their names."""
    if is_dataclass(part):
        settings = {one.name: _plain(getattr(part, one.name)) for one in fields(part) if one.compare}
        return {"kind": type(part).__name__, **settings}
    if part is None or isinstance(part, bool | int | float | str):
        return part
    if isinstance(part, tuple | list):
        return [_plain(one) for one in part]
    if isinstance(part, jax.Array | np.ndarray | np.generic):
        return np.asarray(part).tolist()
    return getattr(part, "__qualname__", type(part).__name__)
