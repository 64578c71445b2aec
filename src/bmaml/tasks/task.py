"""What a task is: a few observations to adapt on and a few to be judged on."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Shaped


class Data(NamedTuple):
    """Observations: inputs `x` and targets `y`, one row each."""

    x: Shaped[Array, "..."]
    y: Shaped[Array, "..."]

    def join(self, other: "Data") -> "Data":
        """All rows of both, as in D_trn ∪ D_val of the chaser's leader."""
        return Data(
            jnp.concatenate([self.x, other.x], axis=0), jnp.concatenate([self.y, other.y], axis=0)
        )


class Task(NamedTuple):
    """One task: `support` is D_trn, which adaptation sees; `query` is D_val or D_tst."""

    support: Data
    query: Data
