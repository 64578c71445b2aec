"""A training without a folder can be given one: it is what the run's own would have been."""

import json
import shutil
from typing import Any

import pytest

import bmaml
from bmaml.errors import RunError
from bmaml.recipe import Recipe
from bmaml.train import fit, fit_seeds
from bmaml.trained import Trained
from tests.test_train import (
    LEARNER,
    TASKS,
    assert_same_bits,
    compile_once,  # noqa: F401 - a fixture for all tests here.
)

SETTINGS: dict[str, Any] = {"steps": 12, "batch_size": 4, "validate_every": 5, "progress": False}


@pytest.fixture(scope="module")
def trained():
    return fit(LEARNER, TASKS, **SETTINGS)


def told(folder):
    """What the files say that are for reading, without the time it took."""
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    timeless = [{name: value for name, value in entry.items() if "second" not in name} for entry in log]
    return json.loads((folder / "run.json").read_text()), timeless


@pytest.mark.parametrize("which", ["best", "last"])
def test_what_is_saved_is_loaded_bit_for_bit(trained, tmp_path, which):
    trained.save(tmp_path / "runs" / "mine")
    loaded = Trained.load(tmp_path / "runs" / "mine", LEARNER, which)
    assert_same_bits(loaded.last, trained.last)
    best = which == "best"
    assert_same_bits(loaded.particles, trained.particles if best else trained.last.particles)
    assert (loaded.step, loaded.seed) == (trained.step if best else 12, trained.seed)
    assert loaded.history == trained.history


def test_the_folder_is_what_training_into_it_would_have_made(trained, tmp_path):
    trained.save(tmp_path / "saved")
    fit(LEARNER, TASKS, **SETTINGS, out=tmp_path / "trained")
    assert told(tmp_path / "saved") == told(tmp_path / "trained")
    saved, made = ({path.name for path in (tmp_path / name).iterdir()} for name in ("saved", "trained"))
    assert saved == made


def test_a_saved_training_goes_on_as_if_it_had_been_there_all_along(trained, tmp_path):
    trained.save(tmp_path / "saved")
    longer: dict[str, Any] = SETTINGS | {"steps": 25}
    on = fit(LEARNER, TASKS, **longer, out=tmp_path / "saved", resume=True)
    fit(LEARNER, TASKS, **SETTINGS, out=tmp_path / "trained")
    there = fit(LEARNER, TASKS, **longer, out=tmp_path / "trained", resume=True)
    assert_same_bits(on.last, there.last)
    assert_same_bits(on.particles, there.particles)
    assert on.step == there.step


def test_one_of_several_seeds_and_what_was_loaded_can_be_saved(tmp_path):
    second = fit_seeds(LEARNER, TASKS, **SETTINGS, seeds=[0, 4])[1]
    second.save(tmp_path / "one")
    Trained.load(tmp_path / "one", LEARNER).save(tmp_path / "two")
    again = Trained.load(tmp_path / "two", LEARNER, seed=4)
    assert_same_bits(again.particles, second.particles)
    assert told(tmp_path / "one") == told(tmp_path / "two")
    with pytest.raises(RunError, match=r"holds the seeds \[4\], but not 0"):
        Trained.load(tmp_path / "two", LEARNER, seed=0)


def test_a_model_that_has_a_recipe_needs_no_learner(tmp_path):
    recipe = Recipe("sinusoid", "maml", {}, {"num_tasks": 4}, {"hidden": (5,)})
    options: dict[str, Any] = {"batch_size": 4, "description": recipe.to_json(), "progress": False}
    trained = bmaml.fit(recipe.learner(), recipe.task_source(), steps=2, **options)
    trained.save(tmp_path / "run")
    assert_same_bits(Trained.load(tmp_path / "run").particles, trained.particles)


def test_nothing_is_written_over(trained, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "today.txt").write_text("mine")
    for taken in ("notes", "run"):
        if taken == "run":
            trained.save(tmp_path / "run")
        with pytest.raises(RunError, match="already holds something: save to another folder"):
            trained.save(tmp_path / taken)
    with pytest.raises(RunError, match=r"today\.txt is a file"):
        trained.save(tmp_path / "notes" / "today.txt")
    assert [path.name for path in (tmp_path / "notes").iterdir()] == ["today.txt"]


def test_a_full_disk_is_one_sentence_and_leaves_nothing_in_the_way(trained, tmp_path, monkeypatch):
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    with monkeypatch.context() as patch:
        patch.setattr("bmaml.checkpoints.shutil.disk_usage", lambda path: usage)
        with pytest.raises(RunError, match=r"run, the disk is full: make room and save again\.$"):
            trained.save(tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} <= {"lock"}
    trained.save(tmp_path / "run")
    assert_same_bits(Trained.load(tmp_path / "run", LEARNER).particles, trained.particles)
