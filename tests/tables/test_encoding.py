"""What rows become: always finite, whatever the order, and the same after a JSON file."""

import copy
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.errors import BmamlError
from bmaml.tables import (
    CategoryColumn,
    DateColumn,
    Encoding,
    NumberColumn,
    prepare,
    read_table,
)
from tests.tables.frames import measurements, sentence, series, tables

FRAME = measurements()
ENCODING = Encoding.learn(FRAME, task="patient", target="dose")
LABELS = Encoding.learn(FRAME, task="patient", target="drug")


def test_an_encoding_of_every_kind_of_column():
    assert [type(column) for column in ENCODING.features] == [
        NumberColumn,
        CategoryColumn,
        NumberColumn,
        DateColumn,
    ]
    assert [column.name for column in ENCODING.features] == ["age", "drug", "smokes", "visit"]
    assert (ENCODING.kind, ENCODING.outputs, ENCODING.width) == ("numbers", 1, 6)
    assert (LABELS.kind, LABELS.outputs, LABELS.width) == ("labels", 3, 4)
    inputs = ENCODING.inputs(FRAME)
    assert inputs.dtype == np.float32
    np.testing.assert_allclose(inputs[:, [0, 4, 5]].mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(inputs[:, [0, 4, 5]].std(axis=0), 1, rtol=1e-5)
    np.testing.assert_array_equal(inputs[:, 1:4].sum(axis=1), 1)
    targets = ENCODING.targets_of(FRAME)
    assert targets.shape == (len(FRAME), 1)
    assert targets.dtype == np.float32
    labels = LABELS.targets_of(FRAME)
    assert labels.dtype == np.int32
    assert [LABELS.targets.classes[label] for label in labels] == list(FRAME["drug"])
    assert ENCODING.outside(FRAME, with_targets=True) == []


@settings(deadline=None, max_examples=100)
@given(st.one_of(tables(), tables(orderly=True)), st.sampled_from([None, "numbers", "labels"]))
def test_any_table_gives_finite_inputs_or_one_sentence(frame, kind):
    try:
        encoding = Encoding.learn(frame, task="task", target="y", kind=kind)
    except BmamlError as error:
        sentence(error)
        return
    inputs = encoding.inputs(frame)
    assert inputs.shape == (len(frame), encoding.width)
    assert np.isfinite(inputs).all()
    assert encoding.outside(frame) == []
    stored = json.loads(json.dumps(encoding.to_json(), allow_nan=False))
    assert Encoding.from_json(stored) == encoding
    np.testing.assert_array_equal(Encoding.from_json(stored).inputs(frame), inputs)
    try:
        targets = encoding.targets_of(frame)
    except BmamlError as error:
        sentence(error, "no target")
    else:
        assert np.isfinite(targets).all()


@settings(deadline=None, max_examples=100)
@given(st.sampled_from(["age", "drug", "smokes", "visit"]), st.integers(0, 8).flatmap(series))
def test_any_column_can_be_asked_about_or_gets_one_sentence(name, column):
    frame = FRAME.head(len(column)).drop(columns=name).assign(**{name: column})
    try:
        inputs = ENCODING.inputs(frame)
        told = ENCODING.outside(frame)
    except BmamlError as error:
        sentence(error, f"{name!r} should hold")
    else:
        assert np.isfinite(inputs).all()
        assert all(text.startswith(f"The column {name!r}") and text.endswith(".") for text in told)


@settings(deadline=None, max_examples=30)
@given(st.permutations(range(len(FRAME))), st.permutations(list(FRAME.columns)))
def test_neither_the_order_of_rows_nor_that_of_columns_matters(rows, columns):
    shuffled = FRAME.iloc[list(rows)][list(columns)]
    assert Encoding.learn(shuffled, task="patient", target="dose") == ENCODING
    np.testing.assert_array_equal(ENCODING.inputs(shuffled), ENCODING.inputs(FRAME)[list(rows)])
    np.testing.assert_array_equal(ENCODING.targets_of(shuffled), ENCODING.targets_of(FRAME)[list(rows)])


def test_more_columns_do_not_matter_and_fewer_are_named():
    more = FRAME.assign(colour="red", **{"": 1})
    np.testing.assert_array_equal(ENCODING.inputs(more), ENCODING.inputs(FRAME))
    np.testing.assert_array_equal(
        ENCODING.inputs(FRAME.drop(columns=["dose", "patient"])), ENCODING.inputs(FRAME)
    )
    with pytest.raises(BmamlError) as caught:
        ENCODING.inputs(FRAME.drop(columns=["age", "visit"]))
    assert "no column 'age', 'visit'" in sentence(caught.value)
    with pytest.raises(BmamlError, match="more than one column 'age'"):
        ENCODING.inputs(pd.concat([FRAME, FRAME[["age"]]], axis=1))
    with pytest.raises(BmamlError, match="no column 'dose'"):
        ENCODING.targets_of(FRAME.drop(columns="dose"))


def test_names_need_not_be_text():
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3)))
    encoding = Encoding.learn(frame.assign(task=np.arange(12) % 3), task="task", target="2")
    assert [column.name for column in encoding.features] == ["0", "1"]
    assert encoding.inputs(frame).shape == (12, 2)


def test_the_index_of_a_frame_does_not_matter():
    twice = FRAME.set_index(np.zeros(len(FRAME)))
    np.testing.assert_array_equal(ENCODING.inputs(twice), ENCODING.inputs(FRAME))
    assert Encoding.learn(twice, task="patient", target="dose") == ENCODING


def test_a_file_and_a_frame_are_encoded_alike(tmp_path):
    from bmaml.tables import read_table

    FRAME.to_csv(tmp_path / "a.csv", index=False)
    FRAME.to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        read = read_table(tmp_path / name, text=ENCODING.text_columns)
        assert Encoding.learn(read, task="patient", target="dose") == ENCODING
        np.testing.assert_array_equal(ENCODING.inputs(read), ENCODING.inputs(FRAME))


def test_the_row_numbers_that_pandas_writes_are_no_feature(tmp_path):
    from bmaml.tables import read_table

    FRAME.to_csv(tmp_path / "a.csv")
    read = read_table(tmp_path / "a.csv")
    encoding, notes = Encoding.learn_with_notes(read, task="patient", target="dose")
    assert encoding == ENCODING
    assert notes == (
        "The column 'Unnamed: 0' is left out: it has no name in the file, like the row numbers of a "
        "DataFrame.",
    )


def test_only_the_chosen_rows_are_looked_at():
    rows = np.flatnonzero(FRAME["patient"] < "p06")
    spoiled = FRAME.astype({"age": object, "drug": object, "dose": object})
    others = FRAME["patient"] >= "p06"
    spoiled.loc[others, ["age", "drug", "dose"]] = ["text", "never seen", "text"]
    learned = Encoding.learn(spoiled, task="patient", target="dose", rows=rows)
    assert learned == Encoding.learn(FRAME.iloc[rows], task="patient", target="dose")
    with pytest.raises(BmamlError, match="'age' should hold numbers, but data row 37 holds 'text'"):
        learned.inputs(spoiled)
    assert (
        "no training row has (such as 'never seen')"
        in learned.outside(spoiled[["drug"]].assign(age=1.0, smokes=True, visit="2024-01-05"))[-1]
    )


def test_rows_without_a_target_are_named():
    for value in (None, np.inf, -np.inf):
        frame = FRAME.copy()
        frame.loc[4, "dose"] = value
        with pytest.raises(BmamlError) as caught:
            ENCODING.targets_of(frame)
        assert "Data row 5 has no target" in sentence(caught.value)
    frame = FRAME.copy()
    frame.loc[2, "drug"] = None
    with pytest.raises(BmamlError, match="Data row 3 has no target"):
        LABELS.targets_of(frame)
    frame.loc[2, "drug"] = "brand-new"
    with pytest.raises(BmamlError) as caught:
        LABELS.targets_of(frame)
    assert "Data row 3 is of class 'brand-new'" in sentence(caught.value)
    assert "'new', 'none', 'old'" in str(caught.value)


def test_far_outside_is_told_for_each_column():
    frame = FRAME.copy()
    frame.loc[:2, "age"] = 400.0
    frame.loc[:0, "drug"] = "herbs"
    frame.loc[1, "visit"] = pd.Timestamp("1999-01-01")
    frame.loc[0, "dose"] = 1e9
    assert len(ENCODING.outside(frame)) == 3
    age, drug, visit, dose = ENCODING.outside(frame, with_targets=True)
    assert "'age': 3 rows far outside" in age
    assert "'drug': 1 row" in drug
    assert "1999-01-01" in visit
    assert "target 'dose'" in dose


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"target": "patient"}, "both the task and the target"),
        ({"target": "doze"}, "no column 'doze'"),
        ({"task": "patients"}, "no column 'patients'"),
        ({"features": ["age", "height"]}, "no column 'height'"),
        ({"features": ["age", "dose"]}, "'dose' comes twice or is the task or the target"),
        ({"features": ["age", "patient"]}, "'patient' comes twice or is the task or the target"),
        ({"features": ["age", "age"]}, "'age' comes twice"),
        ({"features": []}, "no features"),
        ({"features": ["code"]}, "no column to predict from ('code': it is the same"),
        ({"rows": np.arange(0)}, "no rows"),
        ({"target": "code"}, "same in all training rows"),
        ({"target": "visit"}, "dates"),
    ],
)
def test_what_cannot_be_learned(options, told):
    frame = FRAME.assign(code=7)
    with pytest.raises(BmamlError) as caught:
        Encoding.learn(frame, **{"task": "patient", "target": "dose", **options})
    assert told in sentence(caught.value)


def test_nothing_to_predict_from():
    with pytest.raises(BmamlError, match="there are but task and target"):
        Encoding.learn(FRAME[["patient", "dose"]], task="patient", target="dose")


def test_features_can_be_chosen_and_tasks_told_otherwise():
    encoding = Encoding.learn(FRAME, task=None, target="dose", features=["visit", "age"])
    assert [column.name for column in encoding.features] == ["visit", "age"]
    assert encoding.text_columns == ()
    assert Encoding.from_json(encoding.to_json()) == encoding
    assert LABELS.text_columns == ("drug", "patient")


@pytest.mark.parametrize("values", [None, [], {}, "x", 1, {"format": 1}])
def test_what_is_no_encoding(values):
    with pytest.raises(BmamlError) as caught:
        Encoding.from_json(values)
    assert "damaged" in sentence(caught.value)


@pytest.mark.parametrize("version", [0, 2, "1", None, True])
def test_another_format_is_named(version):
    with pytest.raises(BmamlError) as caught:
        Encoding.from_json({**ENCODING.to_json(), "format": version})
    assert f"format {version!r}" in sentence(caught.value)


def places(values, path=()):
    """The paths to all values in nested JSON."""
    inner = values.items() if isinstance(values, dict) else enumerate(values)
    for name, value in inner:
        yield (*path, name)
        if isinstance(value, dict | list):
            yield from places(value, (*path, name))


BAD = [None, -1.0, 0, "", "number", "date", [], {}, True, [None], float("nan"), 10**400, "patient"]


@settings(deadline=None, max_examples=200)
@given(
    st.sampled_from([ENCODING, LABELS]).flatmap(
        lambda encoding: st.tuples(st.just(encoding), st.sampled_from(list(places(encoding.to_json()))))
    ),
    st.sampled_from([*BAD, "remove"]),
)
def test_a_tampered_encoding_is_refused_or_works(chosen, bad):
    encoding, path = chosen
    values = copy.deepcopy(encoding.to_json())
    inner = values
    for name in path[:-1]:
        inner = inner[name]
    if bad == "remove":
        del inner[path[-1]]
    else:
        inner[path[-1]] = bad
    try:
        read = Encoding.from_json(values)
    except BmamlError as error:
        sentence(error)
        return
    assert Encoding.from_json(read.to_json()) == read
    try:
        assert np.isfinite(read.inputs(FRAME)).all()
    except BmamlError as error:
        sentence(error)


def test_a_class_and_a_task_called_none_survive_a_file(tmp_path):
    frame = measurements().assign(patient=lambda some: some.patient.replace({"p03": "NA"}))
    frame["drug"] = frame["drug"].replace({"none": "None"})
    frame.to_csv(tmp_path / "a.csv", index=False)
    literal = ["patient", "drug"]
    read = read_table(tmp_path / "a.csv", text=["patient"], literal=literal)
    prepared = prepare(read, task="patient", target="drug")
    assert prepared.encoding.targets.classes == ("None", "new", "old")
    assert sum(len(rows.x) for rows in prepared.parts.values()) == len(frame)
    assert set(prepared.encoding.literal_columns) == {"patient", "drug"}
    numbers = Encoding.learn(frame, task="patient", target="dose")
    assert numbers.literal_columns == ("patient",)
    assert set(numbers.text_columns) == {"drug", "patient"}
