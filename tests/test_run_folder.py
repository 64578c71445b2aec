"""Tests of what may be written where, before anything is trained."""

import pytest

from bmaml.errors import RunError
from bmaml.run_folder import RunFolder, require_fit

SETTINGS = {
    "steps": 10,
    "description": {"tasks": "table", "task_options": {"features": [{"mean": 1.0}, {"mean": 2.0}]}},
}


def other(**options):
    return {**SETTINGS, "description": {"tasks": "table", "task_options": options}}


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({**SETTINGS, "steps": 20}, "whose steps is 10, not 20: resume"),
        (
            other(features=[{"mean": 1.0}, {"mean": 3.0}]),
            r"whose description\.task_options\.features\[1\]\.mean is 2\.0, not 3\.0: resume",
        ),
        (
            other(features=[]),
            r"whose number of description\.task_options\.features is 2, not 0: resume",
        ),
    ],
)
def test_of_other_settings_only_the_difference_is_told(tmp_path, settings, sentence):
    RunFolder.start(tmp_path / "run", SETTINGS, resume=False)
    require_fit(tmp_path / "run", SETTINGS, resume=True)
    with pytest.raises(RunError, match=sentence):
        require_fit(tmp_path / "run", settings, resume=True)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "visits.csv").write_text("patient,dose\n")
    with pytest.raises(RunError, match=r"visits\.csv is a file: choose a folder"):
        require_fit(tmp_path / "visits.csv", SETTINGS, resume=False)
