"""A learner's functions, as compiled programs."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
from jaxtyping import Array, Float, Key, PyTree

from bmaml.held_out import score_tasks
from bmaml.learner import Learner
from bmaml.tasks.task import Data


class Compiled:
    """A learner's functions, compiled once for each shape and shared by all who hold this."""

    def __init__(self, learner: Learner):
        self.learner = learner

        def adapt(
            particles: PyTree,
            support: Data,
            key: Key[Array, ""],
            query_x: Array | None,
            steps: int | None,
        ) -> PyTree:
            return learner.adapt(particles, support, steps=steps, query_x=query_x, key=key)

        self.adapt: Callable[..., PyTree] = jax.jit(adapt, static_argnames="steps")

        def prediction_shapes(particles: PyTree, support: Data) -> Any:
            adapted = learner.adapt(particles, support, query_x=support.x)
            return learner.predict(adapted, support.x)

        # Traced once for a shape, and never run.
        self.prediction_shapes: Callable[..., Any] = jax.jit(prediction_shapes).eval_shape
        self.predict: Callable[..., Any] = jax.jit(learner.predict)

        def adapt_many(particles: PyTree, supports: Data, steps: int | None) -> PyTree:
            # Every task draws the same noise, as it would by itself.
            adapt_one = partial(adapt, particles, key=jax.random.key(0), query_x=None, steps=steps)
            return jax.vmap(adapt_one)(supports)

        def predict_many(
            adapted: PyTree, places: Array, x: Array, of_prediction: Callable[[Any], PyTree]
        ) -> PyTree:
            def one(place: Array, rows: Array) -> PyTree:
                particles = jax.tree.map(lambda leaf: leaf[place], adapted)
                return of_prediction(learner.predict(particles, rows))

            return jax.vmap(one)(places, x)

        # Stacked tasks; then chunks of rows, each of the adapted task at its place. See `many`.
        self.adapt_many: Callable[..., PyTree] = jax.jit(adapt_many, static_argnames="steps")
        self.predict_many: Callable[..., PyTree] = jax.jit(
            predict_many, static_argnames="of_prediction"
        )
        self.score: Callable[..., dict[str, Float[Array, ""]]] = jax.jit(
            partial(score_tasks, learner), static_argnames="steps"
        )
