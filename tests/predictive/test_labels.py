"""Labels that are no class are found on the host."""

import numpy as np
import pytest

from bmaml.predictive import check_labels


@pytest.mark.parametrize("y", [np.array([0, 4]), np.array([[3], [0]], np.uint8), np.zeros(0, np.int32)])
def test_classes_pass(y):
    check_labels(y, 5)


@pytest.mark.parametrize(("y", "least", "most"), [([0, 5], 0, 5), ([-1, 2], -1, 2), ([7, 9], 7, 9)])
def test_others_are_refused_with_what_they_are(y, least, most):
    with pytest.raises(ValueError, match=f"reach from {least} to {most}, but the 5 classes"):
        check_labels(np.array(y), 5)


@pytest.mark.parametrize("y", [np.array([0.0, 1.0]), np.array([True, False])])
def test_numbers_that_are_no_integers_are_refused(y):
    with pytest.raises(ValueError, match="give integers"):
        check_labels(y, 2)
