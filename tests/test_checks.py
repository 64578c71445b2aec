"""Which numbers a setting may have."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bmaml.checks import require_counts, require_positive, require_seeds, require_whole


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


def test_seeds_are_whole_numbers_of_32_bits():
    require_seeds([0, 2**32 - 1, np.int64(7)])
    for seed in (2**32, 99999999999999999999):
        with pytest.raises(ValueError, match=f"seed is {seed}; it must be below 4294967296"):
            require_seeds([1, seed])
    for seed, told in ((-1, "at least 0"), ("a", "a whole number"), (1.5, "a whole number")):
        with pytest.raises(ValueError, match=rf"seed is {seed!r}; it must be {told}"):
            require_seeds([seed])


def test_seeds_that_pass_have_keys_of_their_own():
    seeds = (0, 1, 2**31, 2**32 - 1)
    assert len({tuple(jax.random.key_data(jax.random.key(seed)).tolist()) for seed in seeds}) == 4
