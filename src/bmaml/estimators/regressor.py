"""Few-shot regression in scikit-learn's habits."""

from collections.abc import Sequence
from inspect import cleandoc
from typing import Any, ClassVar, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils import check_array, column_or_1d

from bmaml.estimators.few_shot import FewShot
from bmaml.estimators.settings import Settings
from bmaml.predictive import RegressionPrediction
from bmaml.tables.predictions import QUANTILES, NumberPredictions
from bmaml.tables.targets import NumberTarget


class FewShotRegressor(RegressorMixin, FewShot):
    """Predicts numbers of a new task from a few rows of it, with honest error bars.

    Learn what many small related tasks have in common, adapt to a new one, predict::

        model = FewShotRegressor(random_state=0).fit(X, y, groups=patients)
        mean, std = model.adapt(few_X, few_y).predict(new_X, return_std=True)
    """

    __doc__ = f"{cleandoc(__doc__ or '')}\n\n{cleandoc(Settings.__doc__ or '')}"
    kind: ClassVar[Literal["numbers", "labels"]] = "numbers"

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """The mean of each row, and with `return_std` its standard deviation, noise included."""
        kept = self._predict(X, _moments)
        mean, std = self._location + self._scale * kept["mean"], self._scale * kept["std"]
        return (mean, std) if return_std else mean

    def predict_quantiles(
        self, X: Any, quantiles: Sequence[float] = QUANTILES
    ) -> Float[np.ndarray, "rows quantiles"]:
        """What the target of each row stays below with these probabilities, one column each."""
        levels = tuple(float(level) for level in quantiles)
        if not levels or not all(0 < level < 1 for level in levels):
            raise ValueError(f"quantiles must lie strictly between 0 and 1, but are {levels}.")
        return self._location + self._scale * self._predict(X, _Quantiles(levels))

    def score(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> float:
        """R² on the task adapted to; or with `groups`, on new tasks.

        With groups, up to `shots` rows of each task (and at most half) are adapted to, and the score
        is that of its other rows: what a search or a cross-validation should compare.
        """
        if groups is None:
            return super().score(X, y, sample_weight)
        predictions, asked = self._predict_held_out(X, y, groups)
        assert isinstance(predictions, NumberPredictions)
        weight = None if sample_weight is None else np.asarray(sample_weight)[asked]
        return float(r2_score(np.asarray(y)[asked], predictions.mean, sample_weight=weight))

    def _learn_targets(self, y: Any) -> np.ndarray:
        return self._targets(y)

    def _targets(self, y: Any) -> np.ndarray:
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        checks: dict[str, Any] = {"ensure_2d": False, "ensure_min_samples": 0, "dtype": np.float64}
        return check_array(column_or_1d(y, warn=True), input_name="y", **checks)

    @property
    def _location(self) -> float:
        return self._target.mean

    @property
    def _scale(self) -> float:
        return self._target.std

    @property
    def _target(self) -> NumberTarget:
        target = self.model_.encoding.targets
        assert isinstance(target, NumberTarget)
        return target


def _moments(prediction: RegressionPrediction) -> dict[str, Float[Array, " rows"]]:
    return {"mean": prediction.mean[:, 0], "std": prediction.std[:, 0]}


class _Quantiles(NamedTuple):
    """The quantiles at some levels; equal ones share compiled code."""

    levels: tuple[float, ...]

    def __call__(self, prediction: RegressionPrediction) -> Float[Array, "rows levels"]:
        return jnp.stack([prediction.quantile(level)[:, 0] for level in self.levels], axis=1)
