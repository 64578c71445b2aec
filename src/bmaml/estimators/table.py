"""What scikit-learn calls X, y and groups, as one table."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from bmaml.errors import BmamlError

# Rows of a pseudo-task: enough to leave ten for the support, which is what tables are trained for.
PSEUDO_TASK_ROWS = 20
FEWEST_TASKS = 3


def features(
    estimator: BaseEstimator, X: Any, *, reset: bool, fewest_rows: int = 1
) -> pandas.DataFrame:
    """X with a name for each column; `reset` notes those names, otherwise they must be there.

    Arrays are numbers. Frames may hold text, categories, dates and truth values too, their columns
    are found by name, and others than those of `fit` are ignored.
    """
    checks: dict[str, Any] = {"ensure_all_finite": "allow-nan", "ensure_min_samples": fewest_rows}
    if not isinstance(X, pandas.DataFrame):
        values: Any = validate_data(estimator, X, reset=reset, **checks)
        return pandas.DataFrame(values, columns=_names(estimator, values.shape[1]))
    if not reset and hasattr(estimator, "feature_names_in_"):
        names = _names(estimator, 0)
        missing = [name for name in names if name not in X.columns]
        if missing:
            raise ValueError(
                f"X lacks columns that {type(estimator).__name__} was fitted with: "
                f"{', '.join(missing)}."
            )
        X = X[names]
    else:
        given: Any = X
        validate_data(estimator, given, reset=reset, skip_check_array=True)
        X = X.set_axis(_names(estimator, X.shape[1]), axis=1)
    if X.columns.has_duplicates:
        twice = X.columns[X.columns.duplicated()].unique()
        raise ValueError(f"X has several columns named {', '.join(twice)}: rename all but one.")
    # What an array would be refused for: no columns, too few rows, infinity, complex numbers.
    numbers = X.select_dtypes("number", exclude="timedelta")
    check_array(numbers if numbers.shape[1] else np.zeros(X.shape), input_name="X", **checks)
    return X.reset_index(drop=True)


def task_names(groups: Any, rows: int) -> np.ndarray:
    """The task of each row."""
    checks: dict[str, Any] = {"ensure_2d": False, "dtype": None, "input_name": "groups"}
    names = column_or_1d(check_array(groups, **checks))
    check_consistent_length(names, range(rows))
    return names


def pseudo_tasks(rows: int, generator: np.random.RandomState) -> np.ndarray:
    """Deals rows at random into tasks of about equal size, at least two rows each.

    >>> np.bincount(pseudo_tasks(65, np.random.RandomState(0)))
    array([22, 22, 21])
    """
    if rows < 2 * FEWEST_TASKS:
        raise ValueError(
            f"Without groups, fit needs at least {2 * FEWEST_TASKS} rows, but got n_samples={rows}."
        )
    return generator.permutation(np.arange(rows) % max(FEWEST_TASKS, rows // PSEUDO_TASK_ROWS))


def few_of_each(tasks: np.ndarray, most: int) -> np.ndarray:
    """Marks up to `most` rows of each task, but no more than half of them; always the same ones.

    >>> few_of_each(np.array(["a", "b", "a", "a", "b", "b", "c"]), 1).sum()
    np.int64(2)
    """
    names = pandas.Series(tasks)
    shuffled = names.sample(frac=1.0, random_state=0)
    places = shuffled.groupby(shuffled).cumcount().sort_index()
    counts = names.map(names.value_counts())
    return (places < np.minimum(most, counts // 2)).to_numpy()


def free_name(given: Any, otherwise: str, taken: Iterable[str]) -> str:
    """The name of a Series, or another one; never one of those `taken`.

    >>> free_name(pandas.Series([1.0], name="yield"), "target", ["rain"])
    'yield'
    >>> free_name([1.0], "target", ["rain", "target"])
    'target_'
    """
    name, taken = getattr(given, "name", None), set(taken)
    if isinstance(name, str) and name and name not in taken:
        return name
    while otherwise in taken:
        otherwise += "_"
    return otherwise


@contextmanager
def value_errors() -> Iterator[None]:
    """Tell what is wrong with data and options by the type of error that scikit-learn expects."""
    try:
        yield
    except BmamlError as error:
        # Its subclasses are about runs, not about what was given.
        if type(error) is BmamlError:
            raise ValueError(str(error)) from error
        raise


def _names(estimator: BaseEstimator, count: int) -> list[str]:
    """Those of the frame given to `fit`, if it was one with names."""
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{place}" for place in range(count)] if names is None else list(names)
