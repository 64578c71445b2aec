"""Which numbers a setting may have."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.checks import require_counts, require_positive, require_whole


@pytest.mark.parametrize("value", [1e-9, 1, np.float32(0.5), jnp.asarray(-1.0)])
def test_numbers_above_zero_and_arrays_pass(value):
    require_positive(size=value)


def test_what_is_traced_passes():
    jax.jit(lambda size: require_positive(size=size))(0.1)


@pytest.mark.parametrize("value", [0, -1, 0.0, float("nan"), float("inf"), np.float32(-1), "0.1", None])
def test_others_are_refused_by_name_and_value(value):
    told = re.escape(f"size is {value!r}; it must be a number above 0.")
    with pytest.raises(ValueError, match=f"^{told}$"):
        require_positive(fine=1, size=value)


@pytest.mark.parametrize("value", [1, 20, np.int64(3)])
def test_whole_numbers_pass(value):
    require_counts(steps=value)
    require_whole(steps=value - 1)


@pytest.mark.parametrize("value", [2.5, "5", None, 2.0])
def test_what_is_not_whole_is_refused(value):
    for check in (require_counts, require_whole):
        with pytest.raises(ValueError, match=rf"steps is {value!r}; it must be a whole number"):
            check(steps=value)


def test_what_is_too_small_is_refused():
    with pytest.raises(ValueError, match="steps is 0; it must be at least 1"):
        require_counts(steps=0)
    with pytest.raises(ValueError, match="steps is -1; it must be at least 0"):
        require_whole(steps=-1)
