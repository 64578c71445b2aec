"""Plain mean cross-entropy, as in MAML."""

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Array, Float

from bmaml.posterior.categorical import label_log_probs
from bmaml.posterior.likelihood import Likelihood
from bmaml.predictive import ClassificationPrediction
from bmaml.predictive.labels import check_labels


@dataclass(frozen=True)
class CrossEntropy(Likelihood):
    r"""$\frac1n\sum_i \log\mathrm{softmax}(f(x_i))_{y_i}$: MAML's inner and outer loss for classes.

    `Categorical` over the number of rows, so that a step size means the same for any number of them.
    """

    averages = True
    selection = ("accuracy", True)

    def init(self) -> tuple:
        """Nothing to learn."""
        return ()

    def row_log_probs(self, variables: tuple, outputs: Array, y: Array) -> Float[Array, " rows"]:
        """The log probability of each label."""
        return label_log_probs(outputs, y)

    def check_targets(self, y: Array, prediction: Callable[[], ClassificationPrediction]) -> None:
        """Labels must be classes."""
        check_labels(y, prediction().logits.shape[-1])

    def prediction(
        self, variables: tuple, outputs: Float[Array, "M rows classes"]
    ) -> ClassificationPrediction:
        """The mean of the particles' class probabilities."""
        return ClassificationPrediction(outputs)
