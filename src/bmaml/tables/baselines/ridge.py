"""A line for each task."""

from typing import ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import BayesianRidge

from bmaml.tables.baselines.baseline import Inputs, NumberBaseline


class Ridge(NumberBaseline):
    """Bayesian ridge regression on the support rows alone.

    Targets are in units of the training tasks, so two things of them are known beforehand: a line
    begins at zero, as the intercept is shrunk like any weight (and its uncertainty counts); and the
    noise precision has a prior with mean 10, without which two rows leave no noise at all.
    """

    about: ClassVar[str] = "Bayesian linear regression on the support rows alone"
    fewest_rows: ClassVar[int] = 3

    def gaussian(
        self, x: Inputs, y: Float[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> tuple[Float[np.ndarray, " queries"], Float[np.ndarray, " queries"]]:
        """The line and its standard deviation, noise included."""
        ridge = BayesianRidge(fit_intercept=False, alpha_1=1.0, alpha_2=0.1)
        return ridge.fit(_with_one(x), y).predict(_with_one(query_x), return_std=True)


def _with_one(x: Float[np.ndarray, "rows width"]) -> Float[np.ndarray, "rows width_and_one"]:
    return np.hstack([x, np.ones((len(x), 1), x.dtype)])
