"""Run folders: what may be written where, and reading what is being written."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
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
    RunFolder.start(tmp_path / "run", SETTINGS, resume=False).close()
    (tmp_path / "run" / "log.jsonl").write_text('{"step": 1}\n')
    require_fit(tmp_path / "run", SETTINGS, resume=True)
    with pytest.raises(RunError, match=sentence):
        require_fit(tmp_path / "run", settings, resume=True)


def test_a_run_that_ended_before_it_saved_anything_gives_way(tmp_path):
    RunFolder.start(tmp_path / "run", SETTINGS, resume=False).close()
    again = RunFolder.start(tmp_path / "run", {**SETTINGS, "steps": 20}, resume=False)
    assert again.settings["steps"] == 20
    with pytest.raises(RunError, match="being trained into by another process"):
        RunFolder.start(tmp_path / "run", SETTINGS, resume=False)
    again.checkpoints.save(1, {"a": jnp.ones(3)})
    again.close()
    with pytest.raises(RunError, match="already holds a run"):
        RunFolder.start(tmp_path / "run", SETTINGS, resume=False)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "visits.csv").write_text("patient,dose\n")
    with pytest.raises(RunError, match=r"visits\.csv is a file: choose a folder"):
        require_fit(tmp_path / "visits.csv", SETTINGS, resume=False)


SAVING = """
import sys, time
import jax.numpy as jnp
from bmaml.run_folder import RunFolder

folder, step = RunFolder.start(sys.argv[1], {}, resume=False), 0
began = time.monotonic()
while time.monotonic() < began + 4:
    step += 1
    folder.checkpoints.save(step, {"a": jnp.full(1000, step)})
    time.sleep(0.02)  # a checkpoint goes with the next but one, often while it is being read
print(step)
"""


def test_a_run_can_be_read_over_and_over_while_it_saves(tmp_path):
    path, like = tmp_path / "run", {"a": jax.ShapeDtypeStruct((1000,), jnp.int32)}
    training = subprocess.Popen(
        [sys.executable, "-c", SAVING, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    seen = []
    while training.poll() is None:
        if (path / "run.json").exists():
            reader = RunFolder.read(path)
            tree = reader.checkpoints.restore(like)
            reader.close()
            seen += [] if tree is None else [int(tree["a"][0])]
    saved, told = training.communicate()
    assert training.returncode == 0, told
    assert len(seen) > 10
    assert seen == sorted(seen)
    assert seen[-1] <= int(saved)


def test_what_a_reader_saw_may_be_gone_when_it_reads(tmp_path):
    training = RunFolder.start(tmp_path / "run", {}, resume=False)
    training.checkpoints.save(1, {"a": jnp.zeros(3)})
    reader = RunFolder.read(tmp_path / "run")
    look, later = reader.checkpoints._steps, [2, 3, 4]

    def look_and_wait():
        seen = look()
        while later:  # The training goes on between looking and reading.
            step = later.pop(0)
            training.checkpoints.save(step, {"a": jnp.full(3, float(step))})
        return seen

    reader.checkpoints._steps = look_and_wait
    tree = reader.checkpoints.restore({"a": jax.ShapeDtypeStruct((3,), jnp.float32)})
    np.testing.assert_array_equal(tree["a"], [4.0, 4.0, 4.0])
    reader.close()
    training.close()
