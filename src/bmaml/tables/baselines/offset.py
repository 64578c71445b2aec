"""The pooled model and a constant for each task: the simplest model with a memory of its task."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bmaml.tables.baselines.baseline import Inputs
from bmaml.tables.baselines.pooled import PooledNumbers
from bmaml.tables.grouping import TaskRows


class PooledOffset(PooledNumbers):
    r"""A random intercept: $y_{ij} = f(x_{ij}) + b_i + e_{ij}$, b with variance τ², e with σ².

    After n support rows with mean residual r̄ the offset is
    $\frac{n\tau^2}{n\tau^2+\sigma^2}\bar r$, and what is left of its variance is
    $\frac{\tau^2\sigma^2}{n\tau^2+\sigma^2}$.
    """

    about: ClassVar[str] = (
        "the pooled model and a constant for each task, shrunk as training tasks suggest"
    )

    def fit(self, training: TaskRows) -> None:
        """Fit the trees, and the variances to residuals of tasks that they have not seen."""
        self.between, self.within = variances(self.fit_trees(training), training.counts)

    def gaussian(
        self, x: Inputs, y: Float[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> tuple[Float[np.ndarray, " queries"], Float[np.ndarray, " queries"]]:
        """The trees' answer, moved."""
        mean = self.trees.predict(query_x)
        left = self.between
        if len(y) > 0:
            total = len(y) * self.between + self.within
            mean = mean + self.between / total * np.sum(y - self.trees.predict(x))
            left = self.between * self.within / total
        return mean, np.full(len(query_x), np.sqrt(self.within + left))


def variances(residuals: Float[np.ndarray, " rows"], counts: np.ndarray) -> tuple[float, float]:
    r"""τ² between tasks and σ² within, by the analysis of variance for groups of unequal size.

    $$\hat\sigma^2 = \frac{\sum_{ij}(r_{ij}-\bar r_i)^2}{N-k}, \qquad
      \hat\tau^2 = \frac{1}{n_0}\Bigl(\frac{\sum_i n_i(\bar r_i-\bar r)^2}{k-1}-\hat\sigma^2\Bigr),
      \qquad n_0 = \frac{N-\sum_i n_i^2/N}{k-1}$$

    Arguments:
        residuals: r, sorted by task.
        counts: n_i, the number of rows of each of k tasks.
    """
    rows, tasks = len(residuals), len(counts)
    task = np.repeat(np.arange(tasks), counts)
    means = np.bincount(task, residuals) / counts
    # A spread of exactly zero would make every prediction infinitely sure.
    floor = 1e-6 * float(np.mean(np.square(residuals))) + 1e-12
    within = np.sum(np.square(residuals - means[task])) / max(rows - tasks, 1)
    if tasks < 2:
        return 0.0, max(float(within), floor)
    typical = (rows - np.sum(np.square(counts.astype(float))) / rows) / (tasks - 1)
    spread = np.sum(counts * np.square(means - np.mean(residuals))) / (tasks - 1)
    return max(float(spread - within) / typical, 0.0), max(float(within), floor)
