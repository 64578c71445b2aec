"""What is predicted for rows of a table, in the units of the table."""

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from bmaml.predictive import ClassificationPrediction, RegressionPrediction
from bmaml.tables.targets import NumberTarget

QUANTILES = (0.05, 0.5, 0.95)


class NumberPredictions(NamedTuple):
    """A number for each row, and how sure of it the model is.

    `std` is the total: epistemic_std² (which more rows would reduce) plus noise_std² (which stays).
    `support_rows` is how many rows of its task a row's prediction was adapted to.
    """

    mean: Float[np.ndarray, " rows"]
    std: Float[np.ndarray, " rows"]
    epistemic_std: Float[np.ndarray, " rows"]
    noise_std: Float[np.ndarray, " rows"]
    quantiles: dict[float, Float[np.ndarray, " rows"]]
    support_rows: Int[np.ndarray, " rows"] | None = None

    def columns(self) -> dict[str, np.ndarray]:
        """By the names they have in a file of predictions."""
        quantiles = {f"q{round(100 * level):02d}": values for level, values in self.quantiles.items()}
        return {"mean": self.mean, "std": self.std, **quantiles, **_support_rows(self.support_rows)}


class ClassPredictions(NamedTuple):
    """The probability of each class for each row, and how uncertain they leave it, in nats."""

    classes: tuple
    probabilities: Float[np.ndarray, "rows classes"]
    entropy: Float[np.ndarray, " rows"]
    mutual_information: Float[np.ndarray, " rows"]
    support_rows: Int[np.ndarray, " rows"] | None = None

    @property
    def labels(self) -> np.ndarray:
        """The most probable class of each row."""
        return np.asarray(self.classes)[np.argmax(self.probabilities, axis=1)]

    def columns(self) -> dict[str, np.ndarray]:
        """By the names they have in a file of predictions."""
        each = {f"p({name})": self.probabilities[:, i] for i, name in enumerate(self.classes)}
        given = _support_rows(self.support_rows)
        return {"predicted": self.labels, **each, "entropy": self.entropy, **given}


@dataclass(frozen=True)
class KeepNumbers:
    """What is kept of a regression, still in standardised units; equal ones share compiled code."""

    levels: tuple[float, ...] = QUANTILES

    def __call__(self, prediction: RegressionPrediction) -> dict[str, Float[Array, "rows ..."]]:
        """Arrays whose first axis is rows."""
        quantiles = [prediction.quantile(level)[:, 0] for level in self.levels]
        return {
            "mean": prediction.mean[:, 0],
            "std": prediction.std[:, 0],
            "epistemic_std": prediction.epistemic_std[:, 0],
            "noise_std": prediction.noise_std[:, 0],
            "quantiles": jnp.stack(quantiles, axis=1),
        }

    def in_units(self, kept: dict[str, np.ndarray], target: NumberTarget) -> NumberPredictions:
        """In the units of the target's column."""
        scaled = {name: target.std * kept[name] for name in ("std", "epistemic_std", "noise_std")}
        quantiles = target.mean + target.std * kept["quantiles"]
        return NumberPredictions(
            mean=target.mean + target.std * kept["mean"],
            **scaled,
            quantiles={level: quantiles[:, i] for i, level in enumerate(self.levels)},
            support_rows=kept.get("support_rows"),
        )


def keep_labels(prediction: ClassificationPrediction) -> dict[str, Float[Array, "rows ..."]]:
    """What is kept of a classification."""
    return {
        "probabilities": prediction.probabilities,
        "entropy": prediction.entropy,
        "mutual_information": prediction.mutual_information,
    }


def _support_rows(counts: Int[np.ndarray, " rows"] | None) -> dict[str, np.ndarray]:
    return {} if counts is None else {"support_rows": counts}
