"""Whole tasks, dealt out the same way every time."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmaml.errors import BmamlError
from bmaml.tables import split_tasks
from tests.tables.frames import sentence

NAMES = st.lists(st.one_of(st.text(max_size=3), st.integers()), min_size=3, max_size=30)
SHARES = st.tuples(st.floats(0, 0.99), st.floats(0, 0.99)).filter(lambda shares: sum(shares) < 1)


@given(NAMES.filter(lambda names: len(set(names)) >= 3), SHARES, st.integers(0, 2**32))
def test_each_task_is_in_one_part_and_each_part_has_its_share(names, shares, seed):
    validation, test = shares
    parts = split_tasks(names, validation_share=validation, test_share=test, seed=seed)
    assert list(parts) == ["train", "validation", "test"]
    dealt = [name for part in parts.values() for name in part]
    assert len(dealt) == len(set(names))
    assert set(dealt) == set(names)
    assert len(parts["train"]) > 0
    for part, share in (("validation", validation), ("test", test)):
        assert (len(parts[part]) > 0) == (share > 0)
        assert len(parts[part]) <= max(1, share * len(set(names)) + 1)


@given(st.permutations([f"t{place}" for place in range(20)]), st.integers(0, 99))
def test_neither_order_nor_repetition_of_names_matters(names, seed):
    parts = split_tasks(names * 2, seed=seed)
    assert parts == split_tasks(sorted(names), seed=seed)
    assert [len(part) for part in parts.values()] == [14, 3, 3]


def test_seeds_differ():
    names = range(40)
    assert split_tasks(names, seed=0) != split_tasks(names, seed=1)


@pytest.mark.parametrize("count", [0, 1, 2])
def test_too_few_tasks(count):
    with pytest.raises(BmamlError) as caught:
        split_tasks(list(range(count)))
    assert "need 3" in sentence(caught.value)


def test_a_part_that_is_not_wanted_needs_no_task():
    assert split_tasks(["a", "b"], test_share=0.0)["test"] == []
    assert split_tasks(["a"], validation_share=0.0, test_share=0.0)["train"] == ["a"]


@pytest.mark.parametrize("shares", [(-0.1, 0.2), (0.2, 1.0), (0.5, 0.5), (float("nan"), 0.1)])
def test_shares_that_leave_nothing_to_train_on(shares):
    with pytest.raises(BmamlError) as caught:
        split_tasks("abcdef", validation_share=shares[0], test_share=shares[1])
    sentence(caught.value)


def test_a_negative_seed():
    with pytest.raises(BmamlError, match="seed"):
        split_tasks("abcdef", seed=-1)
