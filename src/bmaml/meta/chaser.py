"""The chaser loss: land after a few steps where more steps on more data would lead."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key, PyTree

from bmaml.checks import require_counts, require_positive
from bmaml.distances import Distance, PairedSquared
from bmaml.inner.update import InnerUpdate
from bmaml.meta.objective import MetaObjective
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Task

LEADER_ROWS = ("all", "query")


@dataclass(frozen=True)
class Chaser(MetaObjective):
    r"""$d\bigl(\Theta^n_\tau, \mathrm{stopgrad}(\Theta^{n+s}_\tau)\bigr)$, Algorithm 3 and Eq. 7.

    The chaser $\Theta^n$ adapts on $D^{trn}$; the leader $\Theta^{n+s}$ goes on from it for
    `leader_steps` (s) of size `leader_step_size` on $D^{trn}\cup D^{val}$, or on $D^{val}$ alone, as in
    the paper's reinforcement learning, with `leader_rows="query"`. `matched` names the parts
    of a particle that the `distance` d runs over, which is $\sum_m\lVert\theta^m - \theta'^m\rVert^2$
    unless another is given.

    The likelihood's own variables, such as the noise precision, say how wrong a prediction is on rows
    it has not seen. A leader, which has fitted all rows, cannot tell. With `noise_from_query` they are
    trained on what the chaser leaves of the query instead, with its predictions held constant:
    $-\sum_m \log p(D^{val} \mid \mathrm{stopgrad}(f^m), \gamma^m)$ is added to the distance, and adds
    nothing to the gradient of any weight. (The distance still has a gradient in them, a small one,
    through the steps of the chaser.)

    `held` names the parts whose initial values stay as they are. The precision of a prior is one:
    whatever pulls the chaser back leaves it farther behind the leader, so that the distance makes the
    precision ever smaller, until no prior is left to hold what the particles' repulsion drives apart.
    (It still adapts to a task, like all of a particle.)
    """

    leader_steps: int = 1
    leader_step_size: float = 0.001
    matched: tuple[str, ...] = ("weights",)
    noise_from_query: bool = True
    distance: Distance = field(default_factory=PairedSquared)
    held: tuple[str, ...] = ("prior",)
    leader_rows: str = "all"

    def __post_init__(self) -> None:
        require_counts(leader_steps=self.leader_steps)
        require_positive(leader_step_size=self.leader_step_size)
        if self.leader_rows not in LEADER_ROWS:
            raise ValueError(f"Unknown leader_rows {self.leader_rows!r}: use 'all' or 'query'.")

    def loss(
        self,
        posterior: Posterior,
        inner: InnerUpdate,
        initial: PyTree,
        task: Task,
        *,
        key: Key[Array, ""] | None = None,
    ) -> Float[Array, ""]:
        """The distance from chaser to leader, which is a constant, and the noise's own loss."""
        initial = initial._replace(
            **{part: jax.lax.stop_gradient(getattr(initial, part)) for part in self.held}
        )
        chaser_key, leader_key = (None, None) if key is None else jax.random.split(key)
        chaser = inner.run(posterior.target(task.support), initial, key=chaser_key)
        rows = task.query if self.leader_rows == "query" else task.support.join(task.query)
        leader = inner.run(
            posterior.target(rows),
            jax.lax.stop_gradient(chaser),
            steps=self.leader_steps,
            step_size=self.leader_step_size,
            key=leader_key,
        )
        # Once more: with a shared part, the leader's target depends on what is trained, too.
        leader = jax.lax.stop_gradient(leader)
        left_out = {part: () for part in chaser._fields if part not in self.matched}
        distance = self.distance(
            chaser._replace(**left_out), leader._replace(**left_out), posterior, task
        )
        if not self.noise_from_query or not jax.tree.leaves(chaser.likelihood):
            return distance
        # Adaptation moved the noise by what the weights left over; that path is no lesson for weights.
        noise = jax.tree.map(
            lambda first, last: first + jax.lax.stop_gradient(last - first),
            initial.likelihood,
            chaser.likelihood,
        )
        judged = jax.vmap(posterior.noise_log_likelihood, in_axes=(0, None))(
            chaser._replace(likelihood=noise), task.query
        )
        return distance - jnp.sum(judged)
