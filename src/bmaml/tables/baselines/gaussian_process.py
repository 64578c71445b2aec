"""A Gaussian process for each task."""

from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel, WhiteKernel

from bmaml.tables.baselines.baseline import Inputs, LabelsPerTask, NumberBaseline

# Noise of at least a tenth of the spread of training targets: with less, the likelihood of a handful
# of rows is highest where they are free of noise, and the process is then sure and wrong.
LEAST_NOISE = 1e-2


class GaussianProcessNumbers(NumberBaseline):
    """An RBF kernel and white noise, chosen by the likelihood of the support rows alone."""

    about: ClassVar[str] = "RBF kernel and noise, chosen by the likelihood of the support rows alone"
    fewest_rows: ClassVar[int] = 3

    def gaussian(
        self, x: Inputs, y: Float[np.ndarray, " rows"], query_x: Float[np.ndarray, "queries width"]
    ) -> tuple[Float[np.ndarray, " queries"], Float[np.ndarray, " queries"]]:
        """The process and its standard deviation, noise included."""
        kernel = _smooth(x.shape[1]) + WhiteKernel(0.1, (LEAST_NOISE, 10.0))
        process: Any = GaussianProcessRegressor(kernel, random_state=0).fit(x, y)
        return process.predict(query_x, return_std=True)


class GaussianProcessLabels(LabelsPerTask):
    """An RBF kernel, chosen by the likelihood of the support rows alone; one class against the rest."""

    about: ClassVar[str] = "RBF kernel, chosen by the likelihood of the support rows alone"

    def classifier(self, width: int) -> Any:
        """With the Laplace approximation."""
        return GaussianProcessClassifier(_smooth(width), random_state=0)


def _smooth(width: int) -> Kernel:
    """Rows of more inputs are further apart; inputs are in units of the training tasks."""
    length = float(np.sqrt(width))
    return ConstantKernel(1.0, (1e-2, 1e2)) * RBF(length, (0.1 * length, 100.0 * length))
