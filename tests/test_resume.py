"""Run folders survive kills, interruptions, full disks and damage, and say so in a sentence."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace

import jax
import numpy as np
import pytest

from bmaml import training_loop
from bmaml.checkpoints import Checkpoints
from bmaml.errors import Interrupted, RunError
from bmaml.interrupt import postponed_interrupt
from bmaml.learner import MetaOptimizer
from bmaml.run_folder import RunFolder
from bmaml.tasks import Sinusoid
from bmaml.train import fit
from bmaml.trained import Trained
from tests.test_train import (
    LEARNER,
    TASKS,
    assert_same_bits,
    compile_once,  # noqa: F401 - a fixture for all tests here.
)

SETTINGS = {"steps": 30, "batch_size": 4, "validate_every": 5, "progress": False}


def checkpoints(folder):
    return sorted(int(path.name) for path in (folder / "checkpoints").iterdir())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished run that saved at every validation, and its result."""
    folder = tmp_path_factory.mktemp("runs") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_loop, "SHARE_FOR_CHECKPOINTS", np.inf)
        trained = fit(LEARNER, TASKS, **SETTINGS, out=folder, description={"method": "test"})
    return folder, trained


@pytest.fixture
def folder(finished, tmp_path):
    """A copy of that folder, to be damaged."""
    return shutil.copytree(finished[0], tmp_path / "copy")


def go_on(folder, **changes):
    options = SETTINGS | {"description": {"method": "test"}} | changes
    return fit(LEARNER, TASKS, **options, out=folder, resume=True)


def test_folder_holds_what_it_promises(finished):
    folder, trained = finished
    settings = json.loads((folder / "run.json").read_text())
    assert settings["format"] == 1
    assert settings["description"] == {"method": "test"}
    assert (settings["steps"], settings["seeds"], settings["batch_size"]) == (30, [0], 4)
    entries = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert entries == trained.history
    assert [entry["step"] for entry in entries] == [5, 10, 15, 20, 25, 30]
    for entry in entries:
        assert set(entry) == {
            "step",
            "seed",
            "loss",
            "validation",
            "seconds",
            "updates_per_second",
        }
    assert checkpoints(folder) == [25, 30]
    assert len(list((folder / "tensorboard" / "seed-0").iterdir())) == 1


def test_an_existing_run_is_not_overwritten(finished):
    before = (finished[0] / "run.json").stat().st_mtime_ns
    with pytest.raises(
        RunError, match=r"already holds a run: resume it .*--resume.*, or choose another"
    ):
        fit(LEARNER, TASKS, **SETTINGS, out=finished[0])
    assert (finished[0] / "run.json").stat().st_mtime_ns == before


def test_resuming_a_finished_run_returns_it(folder, finished):
    again = go_on(folder)
    assert_same_bits(again.last, finished[1].last)
    assert_same_bits(again.particles, finished[1].particles)
    assert again.history == finished[1].history


def test_resuming_from_an_older_checkpoint_and_a_longer_log_gives_the_same_bits(folder, finished):
    shutil.rmtree(folder / "checkpoints" / "30")
    (folder / "checkpoints" / "28.orbax-checkpoint-tmp-1").mkdir()  # Half a checkpoint.
    with open(folder / "log.jsonl", "a") as file:
        file.write('{"step": 3')  # Half a line.
    again = go_on(folder)
    assert_same_bits(again.last, finished[1].last)
    assert_same_bits(again.particles, finished[1].particles)

    def timeless(entries):
        return [(entry["step"], entry["loss"], entry["validation"]) for entry in entries]

    assert timeless(again.history) == timeless(finished[1].history)
    written = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    assert written == again.history


def test_resuming_nothing_begins(tmp_path, finished):
    begun = fit(LEARNER, TASKS, **SETTINGS, out=tmp_path / "new" / "run", resume=True)
    assert_same_bits(begun.last, finished[1].last)


def test_a_run_can_be_prolonged(tmp_path):
    whole = fit(LEARNER, TASKS, **SETTINGS | {"steps": 38})
    # The validation after 32 is not where a run of 38 updates has one.
    fit(LEARNER, TASKS, **SETTINGS | {"steps": 32}, out=tmp_path / "run")
    longer = fit(LEARNER, TASKS, **SETTINGS | {"steps": 38}, out=tmp_path / "run", resume=True)
    assert_same_bits(longer.last, whole.last)
    assert [entry["step"] for entry in longer.history] == [5, 10, 15, 20, 25, 30, 32, 35, 38]
    losses = {entry["step"]: entry["loss"] for entry in longer.history}
    both = (2 * losses[32] + 3 * losses[35]) / 5
    assert both == pytest.approx(next(e["loss"] for e in whole.history if e["step"] == 35), rel=1e-4)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["steps"] == 38


def test_a_prolonged_run_validates_as_often_as_before(folder):
    longer = go_on(folder, steps=36, validate_every=None)
    assert [entry["step"] for entry in longer.history] == [5, 10, 15, 20, 25, 30, 35, 36]


def test_a_run_whose_step_size_decays_with_its_length_is_not_prolonged(tmp_path):
    decaying = replace(LEARNER, optimizer=MetaOptimizer(decay=0.98))
    fit(decaying, TASKS, **SETTINGS | {"steps": 5}, out=tmp_path / "run")
    with pytest.raises(RunError, match="steps is 5, not 6"):
        fit(decaying, TASKS, **SETTINGS | {"steps": 6}, out=tmp_path / "run", resume=True)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"steps": 29}, "steps is 30, not 29"),
        ({"batch_size": 5}, "batch_size is 4, not 5"),
        ({"seed": 1}, r"seeds\[0\] is 0, not 1"),
        ({"description": {"method": "other"}}, 'description.method is "test", not "other"'),
    ],
)
def test_resuming_with_other_settings_names_the_difference(folder, changes, told):
    with pytest.raises(RunError, match=told):
        go_on(folder, **changes)


def test_resuming_on_other_tasks_names_the_difference(tmp_path):
    options = SETTINGS | {"steps": 5, "out": tmp_path / "run"}
    fit(LEARNER, Sinusoid(num_tasks=20, held_out_tasks=3), **options)
    with pytest.raises(RunError, match=r"tasks\.noise is 0\.01, not 3\.0"):
        fit(LEARNER, Sinusoid(20, held_out_tasks=3, noise=3.0), **options, resume=True)
    with pytest.raises(RunError, match=r'tasks\.kind is "Sinusoid", not "Arrays"'):
        fit(LEARNER, TASKS, **options, resume=True)


def test_resuming_with_another_learner_names_the_difference(folder):
    settings = SETTINGS | {"out": folder, "resume": True, "description": {"method": "test"}}
    other = replace(LEARNER, inner=replace(LEARNER.inner, step_size=0.5))
    with pytest.raises(RunError, match=r"learner\.inner\.step_size is .*, not 0\.5"):
        fit(other, TASKS, **settings)
    with pytest.raises(RunError, match=r"learner\.calibrate is true, not false"):
        fit(LEARNER, TASKS, **settings, calibrate=False)


def test_a_run_of_an_earlier_version_that_names_no_learner_can_be_resumed(folder, finished):
    path = folder / "run.json"
    settings = json.loads(path.read_text())
    del settings["learner"]
    path.write_text(json.dumps(settings))
    assert_same_bits(go_on(folder).last, finished[1].last)


def test_one_process_at_a_time_trains_into_a_folder(folder):
    settings = RunFolder.read(folder).settings
    first = RunFolder.start(folder, settings, resume=True)
    with pytest.raises(RunError, match="being trained into by another process"):
        go_on(folder)
    first.close()
    go_on(folder)


def test_reading_a_run_leaves_a_checkpoint_that_is_being_written_alone(folder, finished):
    begun = folder / "checkpoints" / "31.orbax-checkpoint-tmp"
    begun.mkdir()
    (begun / "half").write_text("of it")
    training = RunFolder.start(folder, RunFolder.read(folder).settings, resume=True)
    assert_same_bits(Trained.load(folder, LEARNER).last, finished[1].last)
    assert (begun / "half").exists()
    training.close()
    go_on(folder)  # What a killed training had begun is cleared by the next.
    assert not begun.exists()


def damage(checkpoint, how):
    if how == "without its parts":
        shutil.rmtree(checkpoint / "default")
        return
    for path in [path for path in checkpoint.rglob("*") if path.is_file()]:
        if how == "truncated":
            os.truncate(path, path.stat().st_size // 2)
        elif how == "garbage":
            path.write_bytes(os.urandom(path.stat().st_size))
        else:
            path.unlink()


@pytest.mark.parametrize("how", ["truncated", "garbage", "missing", "without its parts"])
def test_damaged_checkpoints_are_named_and_intact_ones_too(folder, how):
    damage(folder / "checkpoints" / "30", how)
    with pytest.raises(RunError, match="damaged, but that of step 25 is intact: delete") as caught:
        Trained.load(folder, LEARNER)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    damage(folder / "checkpoints" / "25", how)
    with pytest.raises(RunError, match="all are damaged"):
        Trained.load(folder, LEARNER)


def test_a_damaged_log_counts_as_far_as_it_is_whole(folder):
    log = folder / "log.jsonl"
    first = log.read_text().splitlines()[0]
    log.write_text(f'{first}\n{{"step": 20}}\n')
    assert [entry["step"] for entry in Trained.load(folder, LEARNER).history] == [5]


def test_a_folder_of_an_earlier_version_is_gone_on_with(folder, finished):
    """It did not say what was added since, nor the names of some functions."""
    settings = json.loads((folder / "run.json").read_text())
    told = settings["learner"]
    assert told["inner"].pop("step_control") is not None
    told["prior"]["since"] = "<lambda>"
    (folder / "run.json").write_text(json.dumps(settings))
    with pytest.raises(RunError, match="since"):  # what it said and this version does not, it refuses
        go_on(folder)
    del told["prior"]["since"]
    (folder / "run.json").write_text(json.dumps(settings))
    assert_same_bits(go_on(folder).last, finished[1].last)
    Trained.load(folder, LEARNER)  # without a warning
    told["inner"]["steps"] += 1
    (folder / "run.json").write_text(json.dumps(settings))
    with pytest.raises(RunError, match=r"learner\.inner\.steps"):
        go_on(folder)


def test_a_damaged_run_file_is_named(folder):
    (folder / "run.json").write_text('{"format": ')
    with pytest.raises(RunError, match=r"run\.json is damaged"):
        Trained.load(folder, LEARNER)
    (folder / "run.json").write_text('{"format": 2}')
    with pytest.raises(RunError, match="format 1"):
        Trained.load(folder, LEARNER)
    (folder / "run.json").unlink()
    with pytest.raises(RunError, match=r"parts of a run but no run\.json"):
        go_on(folder)


def test_a_full_disk_is_one_sentence_and_spares_what_is_saved(tmp_path, monkeypatch, finished):
    monkeypatch.setattr(training_loop, "SHARE_FOR_CHECKPOINTS", np.inf)
    save, limits = Checkpoints.save, resource.getrlimit(resource.RLIMIT_FSIZE)

    def save_until_the_disk_is_full(self, step, tree):
        if step == 15:  # No file may grow beyond a few bytes, as if nothing were left.
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, limits[1]))
        try:
            save(self, step, tree)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    monkeypatch.setattr(Checkpoints, "save", save_until_the_disk_is_full)
    options = SETTINGS | {"description": {"method": "test"}}
    with pytest.raises(RunError, match="disk is full") as caught:
        fit(LEARNER, TASKS, **options, out=tmp_path / "run")
    assert "\n" not in str(caught.value)
    assert Trained.load(tmp_path / "run", LEARNER, "last").step == 10
    monkeypatch.setattr(Checkpoints, "save", save)
    assert_same_bits(go_on(tmp_path / "run").last, finished[1].last)


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match=r"file is a file: choose a folder"):
        RunFolder.start(tmp_path / "file" / "run", {}, resume=False)


LONG = {"steps": 4000, "batch_size": 4, "validate_every": 20, "progress": False}


@pytest.fixture(scope="module")
def uninterrupted():
    return fit(LEARNER, TASKS, **LONG)


def wait_for_progress(folder):
    """Until there are a checkpoint and a few log lines beyond it."""
    log = folder / "log.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        lines = log.read_text().splitlines() if log.exists() else []
        if len(lines) > 5 and RunFolder.read(folder) and checkpoints(folder):
            return
        time.sleep(0.002)
    raise TimeoutError("the run made no progress")


@pytest.fixture
def hears_ctrl_c():
    """As at a prompt; a test run in the background was told by its shell to ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_saves_and_says_how_to_resume(tmp_path, uninterrupted):
    def press():
        wait_for_progress(tmp_path)
        os.kill(os.getpid(), signal.SIGINT)

    presser = threading.Thread(target=press)
    presser.start()
    with pytest.raises(Interrupted, match=r"after step \d+ of 4000.*resume=True.*--resume"):
        fit(LEARNER, TASKS, **LONG, out=tmp_path)
    presser.join()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    stopped = Trained.load(tmp_path, LEARNER, "last")
    assert 100 < stopped.step < 4000
    resumed = fit(LEARNER, TASKS, **LONG, out=tmp_path, resume=True)
    assert_same_bits(resumed.last, uninterrupted.last)
    assert_same_bits(resumed.particles, uninterrupted.particles)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_what_was_called_to_resume_is_to_be_called_again(tmp_path):
    """As the experiments do, whose command has no --resume."""

    def press(step, particles):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=r"after step 20 of 4000.*: go on by running the same again"):
        fit(LEARNER, TASKS, **LONG, out=tmp_path, resume=True, on_validation=press)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_a_background_job_goes_on_ignoring_ctrl_c():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with postponed_interrupt(active=True) as pressed:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
        assert not pressed.is_set()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


TRAIN = """
import sys
from bmaml.train import fit
from tests.test_resume import LEARNER, LONG, TASKS

fit(LEARNER, TASKS, **LONG, out=sys.argv[1])
"""


def test_a_killed_run_resumes_bit_for_bit(tmp_path, uninterrupted, pytestconfig):
    root = pytestconfig.rootpath
    child = subprocess.Popen(
        [sys.executable, "-c", TRAIN, str(tmp_path)],
        cwd=root,
        # The compiler settings of this process too: other ones round differently.
        env={**os.environ, "PYTHONPATH": f"{root / 'src'}:{root}"},
    )
    try:
        wait_for_progress(tmp_path)
    finally:
        child.kill()
        child.wait()
    assert child.returncode == -signal.SIGKILL
    resumed = fit(LEARNER, TASKS, **LONG, out=tmp_path, resume=True)
    assert_same_bits(resumed.last, uninterrupted.last)
    assert_same_bits(resumed.particles, uninterrupted.particles)
    steps = [entry["step"] for entry in resumed.history]
    assert steps == list(range(20, 4001, 20))
    assert jax.tree.all(jax.tree.map(lambda leaf: bool(np.all(np.isfinite(leaf))), resumed.last))


def test_too_little_room_for_a_checkpoint_is_said_before_writing_it(tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("bmaml.checkpoints.shutil.disk_usage", lambda path: usage)
    with pytest.raises(RunError, match="the disk is full: make room and resume"):
        fit(LEARNER, TASKS, steps=20, out=tmp_path / "run", progress=False)
    assert not list((tmp_path / "run").glob("checkpoints/*"))
