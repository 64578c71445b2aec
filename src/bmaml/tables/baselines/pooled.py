"""One model for the rows of all training tasks, which cannot tell one task from another."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import GroupKFold, cross_val_predict

from bmaml.tables.baselines.baseline import Inputs, LabelBaseline, NumberBaseline, spread
from bmaml.tables.grouping import TaskRows

FOLDS = 5


class PooledNumbers(NumberBaseline):
    """Gradient-boosted trees; the noise is how wrong they are on training tasks left out of a fit."""

    about: ClassVar[str] = "gradient-boosted trees on the rows of all training tasks as one"

    def fit(self, training: TaskRows) -> None:
        """Fit the trees to all rows, and once more without each fifth of the tasks."""
        self.fit_trees(training)

    def fit_trees(self, training: TaskRows) -> Float[np.ndarray, " rows"]:
        """Fit, and return the residual of each row by trees that have not seen its task."""
        y = training.y[:, 0]
        self.trees = HistGradientBoostingRegressor(random_state=0).fit(training.x, y)
        tasks = len(training.counts)
        groups = np.repeat(np.arange(tasks), training.counts)
        if tasks == 1:  # Each row then counts as a task: that is all there is.
            groups = np.arange(len(y))
        cut = GroupKFold(min(FOLDS, groups[-1] + 1))
        unseen = HistGradientBoostingRegressor(random_state=0)
        residuals = y - cross_val_predict(unseen, training.x, y, groups=groups, cv=cut)
        self.noise = float(np.sqrt(np.mean(np.square(residuals))))
        return residuals

    def gaussian(
        self, x: Inputs, y: Float[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> tuple[Float[np.ndarray, " queries"], Float[np.ndarray, " queries"]]:
        """The trees' answer, whatever the support is."""
        return self.trees.predict(query_x), np.full(len(query_x), self.noise)


class PooledLabels(LabelBaseline):
    """Gradient-boosted trees; the support changes nothing."""

    about: ClassVar[str] = PooledNumbers.about

    def fit(self, training: TaskRows) -> None:
        """Fit the trees to all rows."""
        # Stopping early would set rows aside by class, which fails for a class of one row.
        options: dict[str, Any] = {"early_stopping": False}
        trees = HistGradientBoostingClassifier(random_state=0, **options)
        self.trees = trees.fit(training.x, training.y)

    def probabilities(
        self, x: Inputs, y: Int[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> Float[np.ndarray, "queries classes"]:
        """The trees' answer, whatever the support is."""
        return spread(self.trees, query_x, self.outputs)
