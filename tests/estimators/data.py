"""A table of small tasks, and the smallest estimators for it."""

import numpy as np
import pandas
import pytest

from bmaml.estimators import FewShotClassifier, FewShotRegressor

# The method that compiles fastest: what most tests look at is the same for all.
TINY = {"method": "emaml", "num_particles": 2, "hidden": (8,), "inner_steps": 1, "random_state": 0}
CLASSES = {"numbers": FewShotRegressor, "labels": FewShotClassifier}
both = pytest.mark.parametrize("kind", list(CLASSES))
# The first tasks of the table are left out of the training of `trained`.
NEW = slice(0, 12)
KNOWN = slice(36, None)


def table(kind, tasks=20, rows=12):
    """Lines of one slope and one effect of colour; the offset differs from task to task."""
    draw = np.random.default_rng(0)
    x, offset = draw.uniform(-1, 1, tasks * rows), np.repeat(draw.normal(0, 2, tasks), rows)
    X = pandas.DataFrame({"x": x, "colour": draw.choice(["red", "green"], tasks * rows)})
    y = x + offset + (X["colour"] == "red") + draw.normal(0, 0.1, tasks * rows)
    y = y if kind == "numbers" else pandas.Series(np.where(y > 0, "high", "low"))
    X.loc[3::17, "x"], X.loc[5::17, "colour"] = np.nan, None
    groups = pandas.Series(np.repeat([f"line {i}" for i in range(tasks)], rows), name="line")
    return X, y.rename("height"), groups
