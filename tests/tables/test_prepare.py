"""From tables to parts: whole tasks, all rows accounted for, nothing learned from the wrong ones."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.errors import BmamlError
from bmaml.tables import Encoding, group_rows, prepare
from tests.tables.frames import measurements, sentence, tables

FRAME = measurements(tasks=20, rows=5)
PREPARED = prepare(FRAME, task="patient", target="dose")

KINDS = st.sampled_from([None, "numbers", "labels"])


def names_of(prepared):
    return {part: rows.names for part, rows in prepared.parts.items()}


def assert_consistent(rows, width):
    assert rows.x.shape == (rows.counts.sum(), width)
    assert len(rows.y) == len(rows.x)
    assert np.isfinite(rows.x).all()
    assert np.isfinite(rows.y).all()
    assert rows.starts.dtype == rows.counts.dtype == np.int32
    np.testing.assert_array_equal(rows.starts, np.cumsum(rows.counts) - rows.counts)
    assert len(rows.names) == len(rows.counts) == len(set(rows.names))
    assert list(rows.names) == sorted(rows.names)


def test_parts_hold_all_rows_of_their_tasks():
    for rows in PREPARED.parts.values():
        assert_consistent(rows, PREPARED.encoding.width)
        for name, start, count in zip(rows.names, rows.starts, rows.counts, strict=True):
            of_task = FRAME[FRAME["patient"] == name]
            taken = slice(start, start + count)
            np.testing.assert_array_equal(rows.x[taken], PREPARED.encoding.inputs(of_task))
            np.testing.assert_array_equal(rows.y[taken], PREPARED.encoding.targets_of(of_task))
    assert {part: len(rows.names) for part, rows in PREPARED.parts.items()} == {
        "train": 14,
        "validation": 3,
        "test": 3,
    }


@settings(deadline=None, max_examples=100)
@given(st.one_of(tables(), tables(orderly=True)), KINDS, st.integers(0, 9))
def test_any_table_is_prepared_or_gets_one_sentence(frame, kind, seed):
    try:
        prepared = prepare(frame, task="task", target="y", kind=kind, seed=seed)
    except BmamlError as error:
        sentence(error)
        return
    for rows in prepared.parts.values():
        assert_consistent(rows, prepared.encoding.width)
        assert (rows.counts >= 2).all()
        assert len(rows.names) > 0
    assert all(note.endswith(".") for note in prepared.notes)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_nothing_of_validation_and_test_tasks_is_learned(data):
    train = FRAME["patient"].isin(PREPARED.parts["train"].names)
    frame = FRAME.astype(object)
    for name in ("age", "drug", "dose", "smokes", "visit"):
        value = {
            "age": st.one_of(st.none(), st.floats()),
            "drug": st.one_of(st.none(), st.text()),
            "dose": st.floats(allow_nan=False, allow_infinity=False),
            "smokes": st.one_of(st.none(), st.booleans()),
            "visit": st.one_of(st.none(), st.datetimes().map(str)),
        }[name]
        drawn = data.draw(st.lists(value, min_size=3, max_size=3))
        frame.loc[~train, name] = np.resize(np.array(drawn, object), (~train).sum())
    prepared = prepare(frame, task="patient", target="dose", kind="numbers")
    assert prepared.encoding == PREPARED.encoding
    assert names_of(prepared) == names_of(PREPARED)
    np.testing.assert_array_equal(prepared.parts["train"].x, PREPARED.parts["train"].x)


@settings(deadline=None, max_examples=20)
@given(st.permutations(range(len(FRAME))), st.permutations(list(FRAME.columns)))
def test_neither_the_order_of_rows_nor_that_of_columns_matters(rows, columns):
    prepared = prepare(FRAME.iloc[list(rows)][list(columns)], task="patient", target="dose")
    assert prepared.encoding == PREPARED.encoding
    assert names_of(prepared) == names_of(PREPARED)
    for part, expected in PREPARED.parts.items():
        found = prepared.parts[part]
        np.testing.assert_array_equal(found.counts, expected.counts)
        # Rows of a task keep the order of the table; as sets they are the same.
        for start, count in zip(found.starts, found.counts, strict=True):
            taken = slice(start, start + count)
            both = [np.hstack([of.x[taken], of.y[taken]]) for of in (found, expected)]
            assert sorted(map(tuple, both[0].tolist())) == sorted(map(tuple, both[1].tolist()))


def test_what_is_left_out_and_filled_is_told():
    frame = FRAME.assign(code=7, name=[f"n{row}" for row in range(len(FRAME))])
    frame.loc[0, "patient"] = None
    frame.loc[[1, 2, 3], "dose"] = [np.nan, np.inf, -np.inf]  # One row of p00 is left.
    frame.loc[10:20, "age"] = np.nan
    frame.loc[21, "age"] = np.inf
    frame.loc[30:, "drug"] = None
    prepared = prepare(frame, task="patient", target="dose")
    assert prepared.notes[:5] == (
        "Left out: 1 row whose 'patient' is empty.",
        "Left out: 3 rows whose 'dose' is empty or infinite.",
        "Left out: 1 task with fewer than 2 rows that count.",
        "The column 'code' is left out: it is the same in all training rows.",
        "The column 'name' is left out: most of its texts, like names, stand in rows of one task only.",
    )
    age, drug, visit = prepared.notes[5:]
    assert age.startswith("The column 'age' is empty or infinite in 12 rows: the median, ")
    assert drug.startswith("The column 'drug' is empty in 70 rows")
    assert "days since 2024-" in visit
    assert "p00" not in {name for rows in prepared.parts.values() for name in rows.names}
    assert sum(len(rows.x) for rows in prepared.parts.values()) == len(frame) - 5


def test_notes_of_a_clean_table():
    assert PREPARED.notes == ("The column 'visit' counts as days since 2024-01-01.",)


def test_a_feature_that_seems_to_mean_numbers_or_dates_is_told():
    weights = FRAME["age"].round().map("{:.0f} kg".format)
    # Shared between tasks, and of each task its own.
    for visit in (
        ["31/12/2023", "1/2/2024"] * 50,
        [f"{place % 28}/1/{place}" for place in range(1900, 2000)],
    ):
        prepared = prepare(FRAME.assign(weight=weights, visit=visit), task="patient", target="dose")
        notes = " ".join(prepared.notes)
        assert "kg', which looks like a number with a unit: write " in notes
        assert "The column 'visit' holds text such as" in notes
        assert "looks like a date: write 2024-12-31 to have it taken for one." in notes


def test_whole_numbers_taken_for_classes_are_told():
    frame = FRAME.assign(score=np.arange(len(FRAME)) % 3)
    assert "3 different whole numbers" in " ".join(prepare(frame, task="patient", target="score").notes)
    asked = prepare(frame, task="patient", target="score", kind="labels")
    assert "whole numbers" not in " ".join(asked.notes)


def test_rows_of_a_class_that_training_tasks_lack_are_left_out():
    held_out = PREPARED.parts["test"].names
    frame = FRAME.copy()
    frame.loc[frame["patient"] == held_out[0], "drug"] = "rare"
    first = frame.index[frame["patient"] == held_out[1]]
    frame.loc[first[:2], "drug"] = "rarer"
    prepared = prepare(frame, task="patient", target="drug")
    assert prepared.encoding.targets.classes == ("new", "none", "old")
    assert prepared.parts["test"].names == held_out[1:]
    assert "Left out: 7 rows of a class that no training task has." in prepared.notes
    assert "Left out: 1 task with fewer than 2 rows that count." in prepared.notes
    frame.loc[frame["patient"].isin(held_out), "drug"] = "rare"
    with pytest.raises(BmamlError) as caught:
        prepare(frame, task="patient", target="drug")
    assert "No test task" in sentence(caught.value)


def test_a_given_encoding_is_used_and_the_split_stays():
    frame = FRAME.assign(age=FRAME["age"] * 2 + 1)
    encoding = PREPARED.encoding
    again = prepare(frame, task="patient", target="dose", encoding=encoding)
    assert again.encoding is encoding
    assert names_of(again) == names_of(PREPARED)
    assert not np.array_equal(again.parts["test"].x, PREPARED.parts["test"].x)
    with pytest.raises(BmamlError, match="of the target 'dose', not 'age'"):
        prepare(frame, task="patient", target="age", encoding=encoding)
    with pytest.raises(BmamlError, match="no column 'age'"):
        prepare(frame.drop(columns="age"), task="patient", target="dose", encoding=encoding)


def test_tasks_may_be_numbers_with_gaps():
    numbers = np.repeat(np.arange(8), 3).astype(float)
    frame = pd.DataFrame({"task": numbers, "x": np.arange(24.0), "y": np.arange(24.0)})
    frame.loc[0, "task"] = np.nan
    prepared = prepare(frame, task="task", target="y")
    names = {name for rows in prepared.parts.values() for name in rows.names}
    assert names == set("01234567")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.assign(patient="p"), "There is 1 task"),
        (lambda frame: frame.head(10), "There are 2 tasks"),
        (lambda frame: frame.head(1), "There are 0 tasks"),
        (lambda frame: frame.head(0), "There are 0 tasks"),
        (lambda frame: frame.assign(patient=None), "There are 0 tasks"),
        (lambda frame: frame.assign(patient=range(len(frame))), "There are 0 tasks"),
        (lambda frame: frame.assign(dose=np.nan), "The target 'dose' is empty in all rows: "),
        (lambda frame: frame.assign(dose=None), "The target 'dose' is empty in all rows: "),
        (lambda frame: frame.assign(dose=-np.inf), "'dose' is empty or infinite in all rows: "),
        (lambda frame: frame.assign(dose=1.5), "same in all training rows"),
        (lambda frame: frame.assign(dose="x"), "same in all training rows"),
        (lambda frame: frame[["patient", "dose"]], "no column to predict from"),
        (lambda frame: frame.drop(columns="dose"), "no column 'dose'"),
        (lambda frame: pd.concat([frame, frame[["age"]]], axis=1), "more than one column 'age'"),
        (lambda frame: frame.assign(age=[*map(str, range(len(frame) - 1)), "old"]), "holds 'old'"),
    ],
)
def test_tables_that_cannot_be_trained_on(change, told):
    with pytest.raises(BmamlError) as caught:
        prepare(change(FRAME), task="patient", target="dose")
    assert told in sentence(caught.value)


def test_parts_that_are_not_wanted_are_empty():
    prepared = prepare(FRAME, task="patient", target="dose", test_share=0.0)
    assert prepared.parts["test"].names == ()
    assert_consistent(prepared.parts["test"], prepared.encoding.width)


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(len(FRAME))), st.booleans())
def test_grouped_rows_can_be_put_back(order, with_targets):
    frame = FRAME.iloc[list(order)]
    rows, places = group_rows(frame, PREPARED.encoding, with_targets=with_targets)
    assert rows.names == tuple(sorted(set(FRAME["patient"])))
    tasks = np.repeat(rows.names, rows.counts)
    assert list(frame["patient"].to_numpy()[places]) == list(tasks)
    np.testing.assert_array_equal(rows.x, PREPARED.encoding.inputs(frame)[places])
    assert sorted(places) == list(range(len(frame)))
    # Within a task, the order of the table.
    assert all(np.all(np.diff(places[tasks == name]) > 0) for name in rows.names)
    if with_targets:
        np.testing.assert_array_equal(rows.y, PREPARED.encoding.targets_of(frame)[places])
    else:
        assert rows.y is None


def test_without_a_column_of_tasks_all_rows_are_of_one():
    other = Encoding.learn(FRAME, task=None, target="dose", features=["age"])
    for frame, encoding in ((FRAME.drop(columns="patient"), PREPARED.encoding), (FRAME, other)):
        rows, order = group_rows(frame, encoding, with_targets=True)
        assert rows.names == ("",)
        assert rows.counts.tolist() == [len(FRAME)]
        assert order.tolist() == list(range(len(FRAME)))


def test_no_rows_are_no_tasks():
    for frame in (FRAME.head(0), FRAME.head(0).drop(columns="patient"), FRAME.head(0).astype(object)):
        rows, order = group_rows(frame, PREPARED.encoding, with_targets=True)
        assert rows.names == ()
        assert rows.x.shape == (0, PREPARED.encoding.width)
        assert rows.y.shape == (0, 1)
        assert len(order) == 0


def test_support_rows_must_be_complete():
    frame = FRAME.copy()
    frame.loc[3, "patient"] = None
    with pytest.raises(BmamlError) as caught:
        group_rows(frame, PREPARED.encoding, with_targets=False)
    assert "Data row 4 does not say which task" in sentence(caught.value)
    frame = FRAME.copy()
    frame.loc[7, "dose"] = np.nan
    with pytest.raises(BmamlError, match="Data row 8 has no target"):
        group_rows(frame, PREPARED.encoding, with_targets=True)
    assert group_rows(frame, PREPARED.encoding, with_targets=False)[0].y is None
    labels = prepare(FRAME, task="patient", target="drug").encoding
    with pytest.raises(BmamlError, match="class 'herbs'"):
        group_rows(FRAME.assign(drug="herbs"), labels, with_targets=True)
