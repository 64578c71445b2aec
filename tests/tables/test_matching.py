"""The tasks of a support and those that are asked about: which are the same, and which are alone."""

import warnings

import pytest

from bmaml.errors import BmamlError
from bmaml.tables.matching import match_names, require_common
from tests.tables.frames import sentence


def told(known, asked, warn=True):
    found = match_names(known, asked)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        require_common(known, asked, found, task="who", what="query", warn=warn)
    return [str(warning.message) for warning in caught]


@pytest.mark.parametrize(
    ("known", "asked", "found"),
    [
        (["a", "b"], ["b", "c", "a"], [1, -1, 0]),
        (["76.0", "8"], ["76", "8.0"], [0, 1]),
        (["76.0", "76"], ["76", "76.0"], [1, 0]),
        (["076", "7.60"], ["76", "7.6"], [-1, -1]),
        ([], ["a"], [-1]),
        (["a"], [], []),
    ],
)
def test_names_are_matched_as_they_are_or_as_whole_numbers(known, asked, found):
    assert match_names(known, asked).tolist() == found


def test_tasks_of_only_one_side_are_told_in_one_sentence():
    assert told(["a", "b"], ["b", "a"]) == []
    assert told([f"t{place}" for place in range(9)], ["t0", "n"]) == [
        "1 of 2 tasks of the query ('n') has no support rows, so that nothing but the prior is known "
        "of it; 8 of 9 tasks of the support ('t1', 't2', 't3', …) have no rows in the query and do not "
        "count."
    ]
    assert told(["a", "b"], ["a", "c"], warn=False) == []


def test_a_support_without_any_task_that_is_asked_about_is_refused():
    with pytest.raises(BmamlError) as caught:
        told(["a", "b"], ["c"], warn=False)
    assert "'who' holds 'a', 'b' in the support and 'c' in the query" in sentence(caught.value)
