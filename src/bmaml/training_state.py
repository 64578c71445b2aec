"""What a training carries from one meta-update to the next, and the keys that drive it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from bmaml.errors import RunError
from bmaml.learner import Learner
from bmaml.tasks.task import Data

# Each purpose has a stream of keys of its own, so that adding one never shifts another.
INIT, TRAINING_SET, UPDATE = 0, 1, 2


class State(NamedTuple):
    """After `step` meta-updates; `particles` and `optimizer_state` have a leading axis of seeds.

    `loss_total` sums the losses since the last validation, so that even the logged mean survives an
    interruption between two validations.
    """

    particles: PyTree
    optimizer_state: PyTree
    step: Int[Array, ""]
    loss_total: Float[Array, " seeds"]


class Best(NamedTuple):
    """The particles with the lowest validation score so far, for each seed."""

    particles: PyTree
    score: Float[Array, " seeds"]
    step: Int[Array, " seeds"]


class Snapshot(NamedTuple):
    """All that a checkpoint holds: everything later updates and the result depend on."""

    state: State
    best: Best


class Example(NamedTuple):
    """Shapes and types of a support set: what a model was built for."""

    x: jax.ShapeDtypeStruct
    y: jax.ShapeDtypeStruct

    @classmethod
    def of(cls, support: Data) -> "Example":
        """The shapes of one task's support."""
        return cls(*(jax.ShapeDtypeStruct(part.shape, part.dtype) for part in (support.x, support.y)))

    @classmethod
    def from_json(cls, written: dict[str, Any]) -> "Example":
        """What `to_json` wrote."""
        return cls(
            *(
                jax.ShapeDtypeStruct(tuple(written[name]["shape"]), written[name]["dtype"])
                for name in cls._fields
            )
        )

    def to_json(self) -> dict[str, Any]:
        """Lists and names, for `run.json`."""
        return {
            name: {"shape": list(part.shape), "dtype": str(part.dtype)}
            for name, part in self._asdict().items()
        }

    def told(self) -> str:
        """What one row is, in few words; how many rows there are is for each task to say.

        >>> Example(jax.ShapeDtypeStruct((5, 2), "float32"), jax.ShapeDtypeStruct((5,), "int32")).told()
        'x=(rows, 2), y=(rows,)'
        """
        shapes = {name: ("rows", *part.shape[1:]) for name, part in self._asdict().items()}
        return ", ".join(
            f"{name}=({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"
            for name, shape in shapes.items()
        )

    def inputs(self) -> Array:
        """Inputs of the right shape, for a model that reads its sizes off them."""
        return jnp.zeros(self.x.shape, self.x.dtype)


def keys_of(seeds: Sequence[int], purpose: int) -> Key[Array, " seeds"]:
    """One key for each seed."""
    return jnp.stack([jax.random.fold_in(jax.random.key(seed), purpose) for seed in seeds])


def begin(learner: Learner, seeds: Sequence[int], example: Array, steps: int) -> Snapshot:
    """Before the first meta-update; `example` is a batch of inputs."""
    optimizer = learner.optimizer.build(steps)
    particles = jax.vmap(lambda key: learner.init(key, example))(keys_of(seeds, INIT))
    optimizer_state = jax.vmap(optimizer.init)(particles)
    count = len(seeds)
    state = State(particles, optimizer_state, jnp.zeros((), jnp.int32), jnp.zeros(count))
    best = Best(particles, jnp.full(count, jnp.inf), jnp.zeros(count, jnp.int32))
    # An update returns strong types; starting from weak ones would compile everything twice.
    return jax.tree.map(
        lambda leaf: jax.lax.convert_element_type(leaf, leaf.dtype), Snapshot(state, best)
    )


def improve(best: Best, particles: PyTree, score: Float[Array, " seeds"], step: Int[Array, ""]) -> Best:
    """The better of what was best and what is now; a NaN is never better."""
    better = score < best.score

    def choose(new: Array, old: Array) -> Array:
        return jnp.where(better.reshape((-1,) + (1,) * (new.ndim - 1)), new, old)

    return Best(
        jax.tree.map(choose, particles, best.particles),
        choose(score, best.score),
        choose(jnp.broadcast_to(step, better.shape), best.step),
    )


def pick(snapshot: Snapshot, index: int) -> Snapshot:
    """The part of one seed, without the axis of seeds; the step is common to all."""
    state, best = snapshot
    one = jax.tree.map(lambda leaf: leaf[index], (state._replace(step=state.loss_total), best))
    return Snapshot(one[0]._replace(step=state.step), one[1])


def join(snapshot: Snapshot) -> Snapshot:
    """A snapshot of one seed, as `pick` gives it, with the axis of seeds again."""
    state, best = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], snapshot)
    return Snapshot(state._replace(step=snapshot.state.step), best)


def require_validated(folder: Path, last: State, best: Best) -> None:
    """Refuse to take the particles of a run's beginning for its best ones; of one seed."""
    if int(best.step) == 0 < int(last.step):
        raise RunError(
            f"{folder} has no validated particles yet, only those of update {int(last.step)}: resume "
            "the run, or take the last ones (which='last', on the command line --checkpoint last)."
        )


def describe(particles: PyTree) -> list[str]:
    """Path, type and shape of every leaf, to tell one model from another."""
    return [
        f"{jax.tree_util.keystr(path)} {leaf.dtype}{list(leaf.shape)}"
        for path, leaf in jax.tree.leaves_with_path(particles)
    ]
