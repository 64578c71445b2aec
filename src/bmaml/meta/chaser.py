"""The chaser loss: land after a few steps where more steps on more data would lead."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.distances import paired_squared
from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task


@dataclass(frozen=True)
class Chaser(MetaObjective):
    r"""$\sum_m \lVert\theta^{n,m}_\tau - \mathrm{stopgrad}(\theta^{n+s,m}_\tau)\rVert^2$, Algorithm 3.

    The chaser $\Theta^n$ adapts on $D^{trn}$; the leader $\Theta^{n+s}$ goes on from it for
    `leader_steps` (s) of size `leader_step_size` on $D^{trn}\cup D^{val}$. `matched` names the parts
    of a particle that the distance runs over. With `noise_from_query` the leader judges the
    likelihood's own variables (the noise precision) by the query rows alone; see
    `Posterior.leader_target`.
    """

    leader_steps: int = 1
    leader_step_size: float = 0.001
    matched: tuple[str, ...] = ("weights", "likelihood")
    noise_from_query: bool = True

    def loss(
        self,
        posterior: Posterior,
        inner: InnerUpdate,
        initial: PyTree,
        task: Task,
        *,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The squared distance between chaser and leader; no gradient enters the leader."""
        chaser_key, leader_key = (None, None) if key is None else jax.random.split(key)
        chaser = inner.run(posterior.target(task.support), initial, key=chaser_key)
        if self.noise_from_query:
            target = posterior.leader_target(task.support, task.query)
        else:
            target = posterior.target(task.support.join(task.query))
        leader = inner.run(
            target,
            jax.lax.stop_gradient(chaser),
            steps=self.leader_steps,
            step_size=self.leader_step_size,
            key=leader_key,
        )
        # Once more: with a shared part, the leader's target depends on what is trained, too.
        leader = jax.lax.stop_gradient(leader)
        return sum(
            (
                jnp.sum(paired_squared(getattr(chaser, part), getattr(leader, part)))
                for part in self.matched
                if jax.tree.leaves(getattr(chaser, part))
            ),
            jnp.zeros(()),
        )
