"""Algorithm 4 for one task: ask for a label, adapt, and ask again."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key, PyTree

from bmaml import particles as sets
from bmaml.active.acquisitions import Chooser, wanted
from bmaml.active.choice import draw_ties, ranking
from bmaml.learner import Learner
from bmaml.metrics import score
from bmaml.models.shared import SharedModel, encode_task
from bmaml.posterior.posterior import Posterior
from bmaml.tasks.task import Data


class Learned(NamedTuple):
    """What the rounds led to.

    Arguments:
        chosen: rows of the pool in the order in which their labels were asked for; −1 where a masked
            pool had no row left.
        particles: after the last round, for `Learner.predict`.
        scores: every metric of the query (see `metrics.score`) before any label was asked for and
            after each round, on a first axis of rounds + 1; empty without a query.
    """

    chosen: Int[Array, " rounds"]
    particles: PyTree
    scores: dict[str, Any]


def learn(
    learner: Learner,
    initial: PyTree,
    support: Data,
    pool: Data,
    *,
    query: Data | None = None,
    acquisition: Chooser = None,
    count: int | None = None,
    steps: int | None = None,
    restart: bool = False,
    key: Key[Array, ""],
) -> Learned:
    r"""Adapt to the support, then `count` times: reveal the most wanted label, and adapt to it, too.

    .. math::

        x^* = \arg\max_{x \in X} a(x; \Theta), \quad D \leftarrow D \cup \{(x^*, y^*)\}, \quad
        \Theta \leftarrow \mathrm{SVGD}_n(\Theta; D)

    Pure, and all shapes are fixed: the labelled set is support and pool under a mask, so that it
    grows without compiling anew. Batch over tasks with `vmap`. A label counts for nothing before it is
    revealed.

    Rows of a model with a shared part are encoded once, normalised as for a prediction after
    adapting to the support. A model that normalises its rows together in `apply` sees support and
    pool, labelled or not.

    Arguments:
        learner: what was trained.
        initial: the initial particles Θ₀.
        support: the rows that are labelled from the start.
        pool: the rows to choose from, with their labels. Masked ones are never chosen.
        query: rows to score after each round, in neither of the other two.
        acquisition: what is wanted; see `wanted`.
        count: labels to reveal; None is all of the pool.
        steps: inner updates in each round; None is the trained number.
        restart: adapt from the initial particles in each round, so that all labels have been seen
            equally often; the algorithm goes on from the current ones.
        key: decides between rows that are wanted alike, and drives inner updates that draw noise.

    Reference: Algorithm 4, Kim et al. 2018.
    """
    rows = pool.y.shape[0]
    count = check_count(rows if count is None else count, rows)
    if query is not None and query.mask is not None:
        raise ValueError("Metrics count every row: give query rows without a mask.")
    adapt_key, tie_key = jax.random.split(key)
    ties = draw_ties(tie_key, rows)

    rest = pool if query is None else pool.join(query)
    inner, initial = learner.tuned(initial)
    posterior, start, statistics, known_x, rest_x = _encode(learner, initial, support.x, rest.x)
    support, pool = support._replace(x=known_x), pool._replace(x=rest_x[:rows])

    def adapt(own: PyTree, revealed: Bool[Array, " rows"], number: Array) -> PyTree:
        target = posterior.target(support.join(pool._replace(mask=revealed)))
        round_key = jax.random.fold_in(adapt_key, number)
        return inner.run(target, own, steps=steps, key=round_key)

    def predict(own: PyTree, x: Array) -> Any:
        return posterior.likelihood.prediction(own.likelihood, posterior.outputs(own, x))

    def play(state: tuple[PyTree, Array], number: Array) -> tuple[tuple[PyTree, Array], Any]:
        own, revealed = state
        # Round 0 is for the support alone; as one of the loop, it is not compiled a second time.
        available = pool.counted() & ~revealed & (number > 0)
        row = ranking(wanted(acquisition, predict(own, pool.x)), ties, available)[0]
        asked = available[row]
        revealed = revealed | (available & (jnp.arange(rows) == row))
        moved = adapt(start if restart else own, revealed, number)
        # A pool that has run out ends the algorithm, though not a loop of fixed length.
        own = jax.tree.map(lambda new, old: jnp.where(asked | (number == 0), new, old), moved, own)
        answers = None if query is None else predict(own, rest_x[rows:])
        return (own, revealed), (jnp.where(asked, row, -1), answers)

    (own, _), (chosen, answers) = jax.lax.scan(
        play, (start, jnp.zeros(rows, bool)), jnp.arange(count + 1)
    )
    scores = {} if query is None else jax.vmap(score, in_axes=(0, None))(answers, query.y)
    if isinstance(learner.posterior.model, SharedModel):
        own = sets.Shared(initial.shared, own, statistics)
    return Learned(chosen[1:], own, scores)


def check_count(count: int, rows: int) -> int:
    """`count`, if so many labels can be asked of a pool of `rows` rows."""
    if rows == 0:
        raise ValueError("The pool has no rows: there is nothing to label.")
    if not 0 <= count <= rows:
        raise ValueError(f"{count} labels were asked of a pool of {rows} rows.")
    return count


def _encode(
    learner: Learner, initial: PyTree, known: Array, rest: Array
) -> tuple[Posterior, PyTree, PyTree, Array, Array]:
    """What the rounds work on: a posterior, its particles, statistics, and rows encoded once."""
    posterior, model = learner.posterior, learner.posterior.model
    if not isinstance(model, SharedModel):
        return posterior, initial, (), known, rest
    known, rest, statistics = encode_task(model, initial.shared, known, rest)
    return posterior.bind(initial.shared), initial.own, statistics, known, rest
