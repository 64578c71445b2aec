"""The tasks of a run, found again in a table that has grown, shrunk or changed."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from bmaml.errors import BmamlError
from bmaml.tables import prepare
from bmaml.tables.dealt import DealtTasks
from bmaml.tables.model import TableModel
from bmaml.tasks.table import TableTasks
from tests.tables.frames import measurements, sentence

FRAME = measurements(tasks=20, rows=5)
PREPARED = prepare(FRAME, task="patient", target="dose")
DEALT = DealtTasks.of(PREPARED.parts)


def options(frame, tmp_path, **others):
    """What a run on FRAME keeps, with its table as it is now."""
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    kept = {"path": str(path), "task": "patient", "target": "dose", "shots": 2}
    return {**kept, "encoding": PREPARED.encoding.to_json(), "dealt": DEALT.to_json(), **others}


def names_of(tasks):
    return {part: set(rows.names) for part, rows in tasks.prepared.parts.items()}


def grown(tasks=15):
    """New tasks, whose names come before and after the others."""
    more = measurements(tasks=tasks, rows=5, seed=1)
    number = more["patient"].str[1:].astype(int)
    return pd.concat([FRAME, more.assign(patient=[f"{'a' if n % 2 else 'z'}{n}" for n in number])])


def test_of_a_table_that_has_grown_the_same_tasks_are_tested(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = names_of(TableTasks.from_options(options(grown(), tmp_path)))
    assert found == {part: set(rows.names) for part, rows in PREPARED.parts.items()}


def test_tasks_that_training_has_not_seen_can_be_tested_as_well(tmp_path):
    found = names_of(TableTasks.from_options(options(grown(), tmp_path), new_to_test=True))
    assert found["train"] == set(PREPARED.parts["train"].names)
    assert found["test"] > set(PREPARED.parts["test"].names)
    assert len(found["test"]) == 3 + 15


def test_test_tasks_that_are_gone_are_told(tmp_path):
    gone = PREPARED.parts["test"].names
    with pytest.warns(UserWarning, match=r"1 of the run's 3 test tasks is not in .*of 2 tasks that"):
        found = names_of(TableTasks.from_options(options(FRAME[FRAME.patient != gone[0]], tmp_path)))
    assert found["test"] == set(gone[1:])
    with pytest.raises(BmamlError) as caught:
        TableTasks.from_options(options(FRAME[~FRAME.patient.isin(gone)], tmp_path))
    assert "None of the run's 3 test tasks" in sentence(caught.value)


def test_a_file_of_nothing_new_cannot_be_tested_on(tmp_path):
    seen = FRAME[~FRAME.patient.isin(PREPARED.parts["test"].names)]
    for untested in (DEALT, DealtTasks({**DEALT.hashes, "test": frozenset()})):
        with pytest.raises(BmamlError) as caught:
            TableTasks.from_options(options(seen, tmp_path, dealt=untested.to_json()), new_to_test=True)
        assert "that training and validation have not seen" in sentence(caught.value)


def test_numbers_that_another_program_wrote_as_fractions_are_the_same_tasks(tmp_path):
    number = FRAME["patient"].str[1:].astype(int)
    dealt = DealtTasks.of(prepare(FRAME.assign(patient=number), task="patient", target="dose").parts)
    now = options(FRAME.assign(patient=number.astype(float)), tmp_path, dealt=dealt.to_json())
    assert len(names_of(TableTasks.from_options(now))["test"]) == 3


def test_a_run_without_a_record_warns_if_the_table_has_changed(tmp_path):
    before = options(FRAME, tmp_path)
    del before["dealt"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = names_of(TableTasks.from_options(before))
    assert found["test"] == set(PREPARED.parts["test"].names)
    grown().to_csv(before["path"], index=False)
    with pytest.warns(UserWarning, match="has changed since training, and this run keeps no record"):
        TableTasks.from_options(before)


def test_a_run_without_a_record_whose_classes_look_like_numbers_is_found_again(tmp_path):
    frame = FRAME.assign(dose=[f"1,{number % 3:03d}" for number in range(len(FRAME))])
    prepared = prepare(frame, task="patient", target="dose", kind="labels")
    before = options(frame, tmp_path, encoding=prepared.encoding.to_json())
    del before["dealt"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert TableTasks.from_options(before).prepared.parts["test"].names


def test_the_record_survives_json_and_names_nobody():
    told = json.dumps(DEALT.to_json())
    assert DealtTasks.from_json(json.loads(told)) == DEALT
    assert not any(name in told for name in FRAME["patient"])
    for bad in (None, {}, {**DEALT.to_json(), "test": "p01"}, {**DEALT.to_json(), "train": 3}):
        with pytest.raises(BmamlError, match="damaged"):
            DealtTasks.from_json(bad)


def test_a_run_goes_on_with_the_tasks_it_began_with(tmp_path, monkeypatch):
    class TrainedError(Exception):
        pass

    def fit(*given, description, **others):
        raise TrainedError(description["task_options"])

    def kept(prepared, **others):
        with pytest.raises(TrainedError) as caught:
            TableModel.fit(prepared, out=folder, **others)
        return caught.value.args[0]

    monkeypatch.setattr("bmaml.tables.model.fit", fit)
    folder = tmp_path / "run"
    folder.mkdir()
    began = kept(PREPARED)
    assert began["dealt"] == DEALT.to_json()

    def resume(prepared, task_options):
        settings = {"format": 1, "description": {"task_options": task_options}}
        (folder / "run.json").write_text(json.dumps(settings))
        return kept(prepared, resume=True)

    assert resume(PREPARED, began)["dealt"] == DEALT.to_json()
    # One from before there was a record goes on without.
    assert "dealt" not in resume(PREPARED, {})
    with pytest.raises(BmamlError) as caught:
        resume(prepare(grown(), task="patient", target="dose"), began)
    assert "other tasks than when" in sentence(caught.value)


def test_no_task_of_training_is_tested_under_another_spelling():
    dealt = DealtTasks.of(prepare(FRAME, task="patient", target="dose").parts)
    names = np.unique(FRAME["patient"]).tolist()
    parts = dealt.deal([*names, "new"], new_to_test=False)
    assert sorted(name for part in parts.values() for name in part) == names
    assert "new" in dealt.deal([*names, "new"], new_to_test=True)["test"]
