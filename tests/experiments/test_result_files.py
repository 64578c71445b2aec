"""Which trainings of an experiment a prefix of their names chooses."""

import pytest

from bmaml.errors import BmamlError
from bmaml.experiments.result_files import choose, result_path, run_path

PARTS = ("K5-maml-M1", "K5-bmaml-M1", "K5-bmaml-M10", "K10-bmaml-M10")


@pytest.mark.parametrize(
    ("only", "chosen"),
    [
        (None, [(part, seed) for part in PARTS for seed in (0, 3)]),
        ("K10", [("K10-bmaml-M10", 0), ("K10-bmaml-M10", 3)]),
        ("K5-bmaml-M1-", [("K5-bmaml-M1", 0), ("K5-bmaml-M1", 3)]),
        ("K5-bmaml-M10-seed3", [("K5-bmaml-M10", 3)]),
    ],
)
def test_a_prefix_chooses_parts_and_a_whole_name_one_seed(only, chosen):
    assert choose(PARTS, (0, 3), only) == chosen


def test_names_are_those_of_the_files(tmp_path):
    ((part, seed),) = choose(PARTS, (0, 3), "K5-maml-M1-seed3")
    assert run_path(tmp_path, part, seed).name == "K5-maml-M1-seed3"
    assert result_path(tmp_path, part, seed).name == "K5-maml-M1-seed3.json"


def test_a_name_that_is_none_is_answered_with_those_there_are():
    with pytest.raises(BmamlError, match=r"'K5-maml-M1-seed1'.*K10-bmaml-M10.*-seed0, -seed3"):
        choose(PARTS, (0, 3), "K5-maml-M1-seed1")
