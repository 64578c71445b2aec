"""What a task is: a few observations to adapt on and a few to be judged on."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Shaped


class Data(NamedTuple):
    """Observations: inputs `x` and targets `y`, one row each.

    Tasks of different sizes are stacked by filling the smaller ones up with rows of any finite numbers;
    `mask` is False for those, which then count for nothing. None: every row counts.
    """

    x: Shaped[Array, "..."]
    y: Shaped[Array, "..."]
    mask: Bool[Array, " rows"] | None = None

    def join(self, other: "Data") -> "Data":
        """All rows of both, as in D_trn ∪ D_val of the chaser's leader."""
        mask = None
        if self.mask is not None or other.mask is not None:
            mask = jnp.concatenate([self.counted(), other.counted()])
        return Data(
            jnp.concatenate([self.x, other.x], axis=0),
            jnp.concatenate([self.y, other.y], axis=0),
            mask,
        )

    def counted(self) -> Bool[Array, " rows"]:
        """The mask, written out."""
        return jnp.ones(self.y.shape[0], bool) if self.mask is None else self.mask


class Task(NamedTuple):
    """One task: `support` is D_trn, which adaptation sees; `query` is D_val or D_tst."""

    support: Data
    query: Data
