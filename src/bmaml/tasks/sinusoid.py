"""The paper's sinusoids: amplitude, frequency and phase differ from task to task."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from bmaml.checks import require_counts, require_whole
from bmaml.tasks.source import Split, TaskSource, choose, require_split, require_task_count
from bmaml.tasks.task import Data, Task


class Wave(NamedTuple):
    r"""The parameters of $y = A\sin(wx+b)+\epsilon$."""

    amplitude: Float[Array, "..."]
    frequency: Float[Array, "..."]
    phase: Float[Array, "..."]

    def __call__(self, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """The curve without noise."""
        return self.amplitude * jnp.sin(self.frequency * x + self.phase)


@dataclass(frozen=True)
class Sinusoid(TaskSource):
    r"""$y = A\sin(wx+b)+\epsilon$ with A ∈ [0.1, 5], w ∈ [0.5, 2], b ∈ [0, 2π], x ∈ [−5, 5].

    The noise has standard deviation `noise`·A. `num_tasks` tasks are drawn once, with their K =
    `shots` support and `query_shots` query points (None: as many as support points); None draws fresh
    tasks without end. Held-out tasks have `held_out_query` query points each, so that a score is
    about the curve and not about the luck of a few points.

    Reference: Section 5 of Kim et al. 2018.
    """

    num_tasks: int | None = 100
    shots: int = 5
    query_shots: int | None = None
    noise: float = 0.01
    held_out_tasks: int = 500
    held_out_query: int = 100

    def __post_init__(self) -> None:
        require_whole(shots=self.shots, held_out_query=self.held_out_query)
        require_counts(held_out_tasks=self.held_out_tasks)
        if self.query_shots is not None:
            require_whole(query_shots=self.query_shots)
        if self.shots < 1 or (self.query_shots is not None and self.query_shots < 1):
            raise ValueError("A task needs at least one support and one query point.")
        require_task_count(self.num_tasks)

    def training_set(self, key: Key[Array, ""]) -> Any:
        """The |T| tasks of one meta-training, or nothing if tasks never run out."""
        return None if self.num_tasks is None else self.draw(key, self.num_tasks)

    def batch(self, training_set: Any, key: Key[Array, ""], count: int) -> Task:
        """`count` of the fixed tasks, or fresh ones."""
        return self.draw(key, count) if training_set is None else choose(training_set, key, count)

    def held_out(self, split: Split) -> Task:
        """Fresh tasks under a key of the split's own."""
        require_split(split)
        key = jax.random.fold_in(jax.random.key(20180611), {"validation": 1, "test": 2}[split])
        return self.draw(key, self.held_out_tasks, self.held_out_query)

    def with_test_tasks(self, count: int) -> "Sinusoid":
        """The same with so many held-out tasks."""
        return replace(self, held_out_tasks=count)

    # Compiled as one: drawn operation by operation, the first call takes seconds.
    @partial(jax.jit, static_argnames=("self", "count", "query_shots"))
    def draw(self, key: Key[Array, ""], count: int, query_shots: int | None = None) -> Task:
        """`count` tasks, stacked."""
        query = query_shots or self.query_shots or self.shots
        return jax.vmap(lambda one: self._task(one, query))(jax.random.split(key, count))

    def _task(self, key: Key[Array, ""], query_shots: int) -> Task:
        wave_key, support_key, query_key = jax.random.split(key, 3)
        wave = draw_wave(wave_key)
        return Task(
            self._observe(wave, support_key, self.shots),
            self._observe(wave, query_key, query_shots),
        )

    def _observe(self, wave: Wave, key: Key[Array, ""], rows: int) -> Data:
        x_key, noise_key = jax.random.split(key)
        x = jax.random.uniform(x_key, (rows, 1), minval=-5.0, maxval=5.0)
        noise = self.noise * wave.amplitude * jax.random.normal(noise_key, (rows, 1))
        return Data(x, wave(x) + noise)


def draw_wave(key: Key[Array, ""]) -> Wave:
    """The parameters of one task."""
    amplitude_key, frequency_key, phase_key = jax.random.split(key, 3)
    return Wave(
        jax.random.uniform(amplitude_key, minval=0.1, maxval=5.0),
        jax.random.uniform(frequency_key, minval=0.5, maxval=2.0),
        jax.random.uniform(phase_key, maxval=2.0 * jnp.pi),
    )
