"""Classification: the log probability of the labels."""

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from bmaml.posterior.likelihood import JudgedApart
from bmaml.predictive import ClassificationPrediction
from bmaml.predictive.labels import check_integers, check_labels, pick


@dataclass(frozen=True)
class Categorical(JudgedApart):
    r"""$\sum_i \log\mathrm{softmax}(f(x_i))_{y_i}$, a sum over rows as a posterior wants it.

    Predictions are $\mathrm{softmax}(\beta f(x))$ with a sharpness β of each particle, of which
    $\log\beta$ is learned: a few steps from where all classes are alike leave logits small, and how
    small depends on the step size and not on what is known (Guo et al. 2017 call 1/β a temperature).

    Outputs are logits `(rows, classes)`, targets are integer labels `(rows,)`. A label that is no class
    makes the result NaN; see `predictive.check_labels`.
    """

    selection = ("accuracy", True)

    def init(self) -> Float[Array, ""]:
        """log β₀ = 0."""
        return jnp.zeros(())

    def row_log_probs(
        self, variables: Float[Array, ""], outputs: Array, y: Array
    ) -> Float[Array, " rows"]:
        """The log probability of each label at β = 1, where adaptation and meta-training are."""
        return label_log_probs(outputs, y)

    def row_divergences(self, outputs: Array, others: Array) -> Float[Array, " rows"]:
        r"""$\mathrm{KL}(p\,\Vert\,p')$ at each row at β = 1; `others` are primed."""
        log_these, log_others = jax.nn.log_softmax(outputs), jax.nn.log_softmax(others)
        return jnp.sum(jnp.exp(log_these) * (log_these - log_others), axis=-1)

    def predictive_log_prob(
        self,
        variables: Float[Array, ""],
        outputs: Array,
        y: Array,
        mask: Bool[Array, " rows"] | None = None,
    ) -> Float[Array, ""]:
        """The same with the learned sharpness."""
        return self.log_prob(variables, jnp.exp(variables) * outputs, y, mask)

    def check_targets(self, y: Array, prediction: Callable[[], ClassificationPrediction]) -> None:
        """Labels must be classes."""
        check_labels(y, prediction().logits.shape[-1])

    def prediction(
        self, variables: Float[Array, " M"], outputs: Float[Array, "M rows classes"]
    ) -> ClassificationPrediction:
        """The mean of the particles' class probabilities, each of its own sharpness."""
        return ClassificationPrediction(jnp.exp(variables)[:, None, None] * outputs)


def label_log_probs(outputs: Array, y: Array) -> Float[Array, " rows"]:
    r"""$\log\mathrm{softmax}(f(x_i))_{y_i}$ at each row.

    Arguments:
        outputs: logits `(rows, classes)`.
        y: integer labels `(rows,)`.

    >>> import jax.numpy as jnp
    >>> label_log_probs(jnp.array([[0.0, -jnp.inf], [1e4, 0.0]]), jnp.array([0, 1]))
    Array([     0., -10000.], dtype=float32)
    """
    if outputs.ndim != 2 or outputs.shape[1] < 2 or y.shape != outputs.shape[:1]:
        raise ValueError(
            f"The model's outputs have shape {outputs.shape} and the targets {y.shape}: give the model "
            "one output for each of two or more classes, (rows, classes), and reshape the targets to "
            "one label a row, (rows,)."
        )
    check_integers(y)
    return pick(jax.nn.log_softmax(outputs, axis=-1), y)
