"""The run's network for each task, without what meta-learning knows: fresh particles, many steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PyTree, Shaped

from bmaml.posterior import GaussianLikelihood, SquaredError
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.tables.baselines.baseline import Baseline, Inputs, Prediction, frequencies
from bmaml.tables.grouping import TaskRows
from bmaml.tasks.task import Data, Task

PARTICLES = 5
STEPS = 300
STEP_SIZE = 0.01
# Episodes at once; the last ones are filled up, so that everything is compiled once.
BLOCK = 50


class Network(Baseline):
    """An ensemble of networks that climb the posterior of the support rows alone, by Adam.

    Network, likelihood and prior are the run's. (The inner update of the run is made for few steps
    from a good beginning: from a random one, 500 of them fit worse than 300 of Adam's.)
    Without support rows, the prediction is that of all training rows.
    """

    about: ClassVar[str] = (
        f"the run's network, {PARTICLES} of them from random weights, on the support rows alone"
    )

    def fit(self, training: TaskRows) -> None:
        """Remember what is typical of training rows; the networks never see them."""
        posterior = self.learner.posterior
        if isinstance(posterior.likelihood, SquaredError):
            # It leaves the noise level to meta-learning, and there is none here.
            posterior = replace(posterior, likelihood=GaussianLikelihood())
        self.fresh = replace(self.learner, posterior=posterior, num_particles=PARTICLES)
        if self.outputs == 1:
            mean, variance = np.mean(training.y), np.var(training.y)
            typical = RegressionPrediction(jnp.full((1, 1, 1), mean), jnp.full(1, variance))
        else:
            logits = np.log(frequencies(training, self.outputs)).astype(np.float32)
            typical = ClassificationPrediction(jnp.asarray(logits)[None, None])
        self._predict: Callable[[Data, Array], Any] = jax.jit(
            jax.vmap(lambda support, query_x: self._one(typical, support, query_x))
        )

    def predict(
        self,
        support_x: Inputs,
        support_y: Shaped[np.ndarray, "rows ..."],
        query_x: Float[np.ndarray, "queries width"],
    ) -> Prediction:
        """Of one episode; compiles for every number of rows."""
        if len(support_y) == 0:  # A masked row in its place: arrays of no rows are no good.
            support_x = np.zeros_like(query_x[:1])
            support_y = np.zeros((1, 1) if self.outputs == 1 else 1, support_y.dtype)
            mask = np.zeros(1, bool)
        else:
            mask = np.ones(len(support_y), bool)
        support = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], (support_x, support_y, mask))
        stacked = self._predict(Data(*support), jnp.asarray(query_x)[None])
        return jax.tree.map(lambda leaf: leaf[0], stacked)

    def predict_episodes(self, episodes: Task, done: Callable[[int], None]) -> Prediction:
        """Many at once."""
        count, predictions = episodes.query.y.shape[0], []
        for first in range(0, count, BLOCK):
            chosen = np.minimum(np.arange(first, first + BLOCK), count - 1)
            support, query_x = jax.tree.map(
                lambda leaf, chosen=chosen: leaf[chosen], (episodes.support, episodes.query.x)
            )
            prediction = self._predict(support, query_x)
            ready = min(BLOCK, count - first)
            predictions.append(jax.tree.map(lambda leaf, ready=ready: leaf[:ready], prediction))
            done(ready)
        return jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *predictions)

    def _one(self, typical: Prediction, support: Data, query_x: Array) -> Prediction:
        """Climb, predict."""
        posterior, adam = self.fresh.posterior, optax.adam(STEP_SIZE)

        def loss(particles: PyTree) -> Float[Array, ""]:
            return -jnp.sum(jax.vmap(lambda one: posterior.log_density(one, support))(particles))

        def step(state: tuple[PyTree, Any], _: None) -> tuple[tuple[PyTree, Any], None]:
            particles, moments = state
            gradient = jax.grad(loss)(particles)
            # Optax mixes integers and floats; the result is the same.
            with jax.numpy_dtype_promotion("standard"):
                moves, moments = adam.update(gradient, moments)
            return (optax.apply_updates(particles, moves), moments), None

        particles = self.fresh.init(jax.random.key(0), support.x)
        (particles, _), _ = jax.lax.scan(step, (particles, adam.init(particles)), length=STEPS)
        prediction = self.fresh.predict(particles, query_x)
        known = jnp.any(support.counted())
        return jax.tree.map(lambda own, prior: jnp.where(known, own, prior), prediction, typical)
