"""The contract of a baseline: learn from training tasks, then predict an episode from its support."""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int, Shaped

from bmaml.learner import Learner
from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.tables.grouping import TaskRows
from bmaml.tasks.task import Task

Prediction = RegressionPrediction | ClassificationPrediction
Inputs = Float[np.ndarray, "rows width"]
# No prediction of a class is so sure that one mistake would outweigh thousands of right answers.
LEAST_PROBABILITY = 1e-4


@contextmanager
def silent() -> Iterator[None]:
    """Keep to ourselves that an optimiser could go on: with three rows it always could."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclass
class Baseline(ABC):
    """A method to compare with. It sees encoded rows, as the network does, and no query target.

    Arguments:
        learner: what the run trained, for a baseline that uses the same network.
        outputs: 1 for numbers, or the number of classes.
    """

    # What it is, in half a sentence for a report.
    about: ClassVar[str]

    learner: Learner
    outputs: int

    @abstractmethod
    def fit(self, training: TaskRows) -> None:
        """Learn from the rows of the training tasks."""

    @abstractmethod
    def predict(
        self,
        support_x: Inputs,
        support_y: Shaped[np.ndarray, "rows ..."],
        query_x: Float[np.ndarray, "queries width"],
    ) -> Prediction:
        """The prediction of one episode, from support rows that all count; there may be none."""

    def predict_episodes(self, episodes: Task, done: Callable[[int], None]) -> Prediction:
        """The predictions of stacked, masked episodes, stacked; `done` hears how many are ready."""
        support, query_x = jax.tree.map(np.asarray, (episodes.support, episodes.query.x))
        predictions = []
        for x, y, mask, asked in zip(support.x, support.y, support.mask, query_x, strict=True):
            predictions.append(self.predict(x[mask], y[mask], asked))
            done(1)
        return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *predictions)


class NumberBaseline(Baseline):
    """A Gaussian at each row; with too few support rows, that of all training rows."""

    fewest_rows: ClassVar[int] = 0

    def fit(self, training: TaskRows) -> None:
        """Remember the mean and standard deviation of the training targets."""
        self.mean, self.std = float(np.mean(training.y)), float(np.std(training.y))

    @abstractmethod
    def gaussian(
        self, x: Inputs, y: Float[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> tuple[Float[np.ndarray, " queries"], Float[np.ndarray, " queries"]]:
        """Mean and standard deviation at each query row."""

    @silent()
    def predict(
        self,
        support_x: Inputs,
        support_y: Shaped[np.ndarray, "rows ..."],
        query_x: Float[np.ndarray, "queries width"],
    ) -> RegressionPrediction:
        """One particle, whose noise differs from row to row."""
        if len(support_y) < self.fewest_rows:
            mean, std = np.full(len(query_x), self.mean), np.full(len(query_x), self.std)
        else:
            mean, std = self.gaussian(support_x, support_y[:, 0], query_x)
        columns = (column.astype(np.float32)[None, :, None] for column in (mean, std**2))
        return RegressionPrediction(*map(jnp.asarray, columns))


class LabelBaseline(Baseline):
    """Probabilities at each row."""

    def fit(self, training: TaskRows) -> None:
        """Remember how frequent each class is."""
        self.frequencies = frequencies(training, self.outputs)

    @abstractmethod
    def probabilities(
        self, x: Inputs, y: Int[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> Float[np.ndarray, "queries classes"]:
        """Of each class, at each query row."""

    @silent()
    def predict(
        self,
        support_x: Inputs,
        support_y: Shaped[np.ndarray, "rows ..."],
        query_x: Float[np.ndarray, "queries width"],
    ) -> ClassificationPrediction:
        """One particle."""
        probabilities = self.probabilities(support_x, support_y, query_x)
        logits = np.log(np.maximum(probabilities, LEAST_PROBABILITY)).astype(np.float32)
        return ClassificationPrediction(jnp.asarray(logits)[None])


class LabelsPerTask(LabelBaseline):
    r"""A classifier of the support rows alone, and one made-up row that is of all training tasks.

    With n support rows, of which those of a new task often lack a class, the classifier's
    probabilities q become $(n q + f) / (n + 1)$, where f are the frequencies in training tasks.
    """

    @abstractmethod
    def classifier(self, width: int) -> Any:
        """A classifier of scikit-learn for rows of so many inputs, not fitted."""

    def probabilities(
        self, x: Inputs, y: Int[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> Float[np.ndarray, "queries classes"]:
        """The classifier's, where the support has several classes; else that of the one class."""
        own = np.zeros((len(query_x), self.outputs))
        if len(np.unique(y)) > 1:
            own = spread(self.classifier(x.shape[1]).fit(x, y), query_x, self.outputs)
        elif len(y) > 0:
            own[:, y[0]] = 1.0
        return (len(y) * own + self.frequencies[None]) / (len(y) + 1)


def frequencies(training: TaskRows, outputs: int) -> Float[np.ndarray, " classes"]:
    """The share of each class among training rows; one that is missing counts as one row."""
    counts = np.maximum(np.bincount(training.y, minlength=outputs), 1)
    return counts / counts.sum()


def spread(
    classifier: Any, query_x: Float[np.ndarray, "queries width"], outputs: int
) -> Float[np.ndarray, "queries classes"]:
    """A fitted classifier's probabilities, zero for classes that it has never seen."""
    probabilities = np.zeros((len(query_x), outputs))
    probabilities[:, classifier.classes_] = classifier.predict_proba(query_x)
    return probabilities
