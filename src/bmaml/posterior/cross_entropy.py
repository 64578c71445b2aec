"""Plain mean cross-entropy, as in MAML."""

from dataclasses import dataclass

from bmaml.posterior.categorical import Categorical


@dataclass(frozen=True)
class CrossEntropy(Categorical):
    r"""$\frac1n\sum_i \log\mathrm{softmax}(f(x_i))_{y_i}$: MAML's inner and outer loss for classes.

    `Categorical` over the number of rows, so that a step size means the same for any number of them.
    """

    averages = True
