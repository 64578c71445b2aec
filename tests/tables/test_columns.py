"""One column at a time: what it becomes, what lies outside, and what a JSON file may do to it."""

import datetime
import json
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.errors import BmamlError
from bmaml.tables import CategoryColumn, ClassTarget, DateColumn, NumberColumn, NumberTarget
from bmaml.tables.cells import days_of, kind_of, numbers_of, texts_of
from bmaml.tables.learning import LeftOut, learn_column, learn_target
from bmaml.tables.spelling import looks_like
from tests.tables.frames import sentence, series

FINITE = st.floats(-1e307, 1e307)


def learned(values, tasks=None, **kind):
    column = pd.Series(values, name="c", **kind)
    tasks = np.arange(len(column)) % 2 if tasks is None else np.asarray(tasks)
    return learn_column(column, tasks, np.arange(len(column)))


def target(values, kind=None):
    return learn_target(pd.Series(values, name="y"), kind, np.arange(len(values)))


def test_numbers_are_standardised_and_gaps_filled_and_told():
    column = learned([1.0, 2.0, np.nan, 3.0, np.inf, 10.0])
    assert (column.low, column.high, column.fill, column.mean) == (1, 10, 2, 4)
    encoded = column.encode(pd.Series([4.0, None, -np.inf, 1e300, -1e300]))
    expected = [[0, 0], [-2 / column.std, 1], [-2 / column.std, 1], [20, 0], [-20, 0]]
    np.testing.assert_allclose(encoded, expected, rtol=1e-6)
    assert encoded.dtype == np.float32
    assert learned([1.0, 2.0]).encode(pd.Series([None, 2.0])).tolist() == [[-1], [1]]


@given(st.lists(FINITE, min_size=2, max_size=20).filter(lambda numbers: len(set(numbers)) > 1))
def test_numbers_of_any_size_become_inputs_of_ordinary_size(numbers):
    column = learned(numbers, dtype="float64")
    assert column.std > 0
    assert column.low <= column.fill <= column.high
    encoded = column.encode(pd.Series(numbers, dtype="float64"))
    # No further than one of many can be, twice over: neighbouring numbers have no mean between them.
    assert np.all(np.abs(encoded) <= 2 * np.sqrt(len(numbers)))
    assert np.ptp(encoded) > 0
    assert column.outside(pd.Series(numbers, dtype="float64")) is None


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=9, unique=True), st.floats(-1e4, 1e4))
def test_outside_is_beyond_the_range_by_more_than_a_quarter_of_it(numbers, value):
    column = learned(numbers)
    quarter = (column.high - column.low) / 4
    far = value > column.high + quarter or value < column.low - quarter
    told = column.outside(pd.Series([value, *numbers]))
    assert (told is not None) == far
    if told is not None:
        assert "1 row far outside" in told


def test_outside_tells_how_many_and_the_worst_and_what_never_lacked():
    column = learned([0.0, 10.0])
    told = column.outside(pd.Series([5.0, 12.4, 12.6, -400.0, None, np.inf]))
    assert "'c'" in told
    assert "2 rows far outside 0 to 10" in told
    assert "worst: -400" in told
    assert "2 rows missing or infinite" in told
    assert learned([0.0, None, 10.0]).outside(pd.Series([None])) is None


def test_categories_are_one_hot_and_unknown_ones_zero():
    column = learned(["b", "a", "a", "b"])
    assert column == CategoryColumn("c", ("a", "b"), has_missing=False, has_other=False)
    encoded = column.encode(pd.Series(["b", "x", None, "a"]))
    assert encoded.tolist() == [[0, 1], [0, 0], [0, 0], [1, 0]]
    told = column.outside(pd.Series(["x", "y", "x", "a", None]))
    assert "3 rows with what no training row has (such as 'x')" in told
    assert "1 row missing" in told
    assert column.outside(pd.Series(["a", "b"])) is None


def test_missing_categories_have_an_input():
    column = learned(["a", "a", None, "b", "b"], tasks=[0, 1, 0, 0, 1])
    assert column.encode(pd.Series([None, "a", " "])).tolist() == [[0, 0, 1], [1, 0, 0], [0, 0, 1]]
    assert column.outside(pd.Series([None, "a"])) is None


def test_of_many_categories_the_commonest_count():
    names = [f"k{place:03d}" for place in range(60)]
    values = names * 2 + names[20:]
    column = learned(values, tasks=np.arange(len(values)) // 60)
    # 40 are common; of the others, which are equally rare, the first ten in the alphabet.
    assert column.categories == tuple(names[:10] + names[20:])
    assert column.has_other
    assert column.encode(pd.Series(["k015", "never"])).sum() == 0
    assert column.outside(pd.Series(["k015", "never"])) is None
    assert "more than 50 categories" in column.note(pd.Series(values))


@pytest.mark.parametrize(
    ("values", "tasks", "reason"),
    [
        ([3.0, 3.0, 3.0, 3.0], None, "same"),
        (["a", "a", "a", "a"], None, "same"),
        ([True, True], None, "same"),
        ([pd.Timestamp("2024-01-01")] * 2, None, "same"),
        ([None, None], None, "empty"),
        ([np.nan, np.inf], None, "empty"),
        ([pd.NaT, pd.NaT], None, "empty"),
        (["", " "], None, "empty"),
        (["ann", "bob", "cid", "dee"], None, "names"),  # One a row.
        (["ann", "bob", "ann", "bob"], None, "names"),  # One a task.
        (["ann", "bob", "cid", "dee", "ann"], [0, 0, 1, 1, 1], "names"),  # Nearly one a row.
        (["ann", "bob", "cid"], [0, 0, 0], "names"),  # One task only.
    ],
)
def test_columns_that_say_nothing_about_new_tasks_are_left_out(values, tasks, reason):
    with pytest.raises(LeftOut, match=reason):
        learned(values, tasks)


def test_a_mark_or_nothing_says_something():
    assert learned(["x", None, "x", None, "x"], tasks=[0, 0, 1, 1, 0]).width == 2
    encoded = learned([1.0, None, 1.0]).encode(pd.Series([1.0, None]))
    assert encoded.tolist() == [[0, 0], [0, 1]]


TIMES = pd.DatetimeIndex(["2024-01-03", "2024-01-01", None, np.datetime64("2024-01-02T12:00")])


@pytest.mark.parametrize(
    "values",
    [
        TIMES,
        TIMES.tz_localize("UTC"),
        ["2024-01-03", "2024-01-01", None, "2024-01-02 12:00:00"],
        ["2024-01-03T00:00:00Z", "2024-01-01", "", "2024-01-02 13:00:00+01:00"],
        pd.Categorical(["2024-01-03", "2024-01-01", None, "2024-01-02 12:00"]),
    ],
)
def test_dates_count_as_days_since_the_earliest(values):
    column = learned(values)
    assert isinstance(column, DateColumn)
    assert column.since == "2024-01-01"
    assert (column.days.low, column.days.high, column.days.mean) == (0, 2, pytest.approx(3.5 / 3))
    told = column.outside(pd.Series(["2024-01-02", "2026-02-28"]))
    assert "2024-01-01 to 2024-01-03" in told
    assert "worst: 2026-02-28" in told
    assert "2024-01-01" in column.note(pd.Series(["2024-01-02"]))


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, 2], "numbers"),
        (["1", " 2.5e3 ", None], "numbers"),
        ([Decimal("1.5"), Decimal("2")], "numbers"),
        (["123456789012345678901234567890", "-1"], "numbers"),
        ([datetime.timedelta(days=1), datetime.timedelta(days=3)], "numbers"),
        ([True, None, False], "flags"),
        (["TRUE", "false"], "flags"),
        ([datetime.date(2024, 1, 1), None], "dates"),
        (["2024-01-01", "x"], "texts"),
        (["31.12.2024", "01.02.2024"], "texts"),
        (["2024-02-30"], "texts"),
        (["1", "x"], "texts"),
        ([[1], [2]], "texts"),
        (pd.Categorical([1, 2]), "texts"),
        (pd.Categorical([True, False]), "flags"),
        (pd.arrays.SparseArray([0.0, 0.0, 1.0]), "numbers"),
        (pd.period_range("2024-01", periods=2, freq="M"), "texts"),
        (pd.array([1, None], "Int64"), "numbers"),
        (pd.array(["a", None], "string"), "texts"),
    ],
)
def test_what_cells_say_does_not_depend_on_how_they_are_stored(values, kind):
    column = pd.Series(values)
    assert kind_of(column) == kind
    if kind in ("numbers", "flags"):
        assert np.isfinite(numbers_of(column)).sum() == column.notna().sum()


def test_whole_numbers_read_the_same_however_stored():
    for column in ([7, 8], [7.0, 8.0], ["7", "8"], pd.array([7, 8], "Int64"), [Decimal(7), b"8"]):
        assert texts_of(pd.Series(column)).values.tolist() == ["7", "8"]
    long = pd.Series([2**60 + 1, 2**60])
    assert texts_of(long).values.tolist() == [str(2**60 + 1), str(2**60)]


def test_categories_that_no_row_has_do_not_count():
    column = pd.Series(pd.Categorical(["a", "b", None], categories=["z", "b", "a"]))[:1]
    assert texts_of(column).values.tolist() == ["a"]
    assert texts_of(column).codes.tolist() == [0]


def test_text_among_numbers_is_named_with_its_row():
    numbers = [str(number) for number in range(40)]
    with pytest.raises(BmamlError) as caught:
        learned([*numbers, "oops", "1.5"])
    assert "'c'" in sentence(caught.value)
    assert "data row 41 holds 'oops'" in str(caught.value)
    with pytest.raises(BmamlError, match="data row 2 holds 'many'"):
        learned([1.0, 2.0]).encode(pd.Series([3, "many", "more"], name="c"))
    with pytest.raises(BmamlError, match="data row 1 holds '2024-01-01 00:00:00'"):
        learned([1.0, 2.0]).encode(pd.Series(pd.to_datetime(["2024-01-01"]), name="c"))
    with pytest.raises(BmamlError, match="should hold dates, such as 2024-12-31, but data row 1"):
        days_of(pd.Series([17, "2024-01-01"], name="c"))


def test_long_text_does_not_flood_a_sentence():
    with pytest.raises(BmamlError) as caught:
        learned([1.0, 2.0]).encode(pd.Series(["x" * 10_000], name="c"))
    assert len(sentence(caught.value)) < 200


@pytest.mark.parametrize(
    ("values", "kind", "classes"),
    [
        (["no", "yes", "no"], None, ("no", "yes")),
        ([True, False], None, (False, True)),
        (["true", "False"], None, (False, True)),
        ([2, 0, 1, 1], None, (0, 1, 2)),
        ([2.0, 0.0, np.nan], None, (0, 2)),
        (["2", "10"], None, (2, 10)),
        (["2.0", "2", "10"], None, (2, 10)),
        (pd.Categorical([3, 1]), None, (1, 3)),
        (pd.Categorical(["b", "a"]), None, ("a", "b")),
        (range(-50, 50), "labels", tuple(range(-50, 50))),
        ([0.5, 0.25], "labels", (0.25, 0.5)),
        ([2**60, 2**60 + 1], None, (2**60, 2**60 + 1)),
        (pd.to_datetime(["2024-01-01", "2025-01-01"]), "labels", None),
    ],
)
def test_classes(values, kind, classes):
    found = target(values, kind)
    assert isinstance(found, ClassTarget)
    if classes is not None:
        assert found.classes == classes
        assert list(map(type, found.classes)) == list(map(type, classes))
    column = pd.Series(values)
    expected = np.where(column.isna(), -1, found.encode(column))
    assert found.encode(column).tolist() == expected.tolist()
    assert set(found.encode(column)) - {-1} == set(range(len(found.classes)))


@pytest.mark.parametrize("values", [[0.5, 1.0], range(11), ["1.5", "2"], [1e300, -1e300, 0.0]])
def test_numbers_to_predict(values):
    found = target(values)
    assert isinstance(found, NumberTarget)
    encoded = found.encode(pd.Series(values))
    assert encoded.shape == (len(values), 1)
    assert encoded.mean() == pytest.approx(0, abs=1e-6)
    assert encoded.std() == pytest.approx(1, rel=1e-5)


def test_a_target_can_be_forced_to_be_numbers():
    assert target([0, 1, 1], "numbers").mean == pytest.approx(2 / 3)
    assert target([True, False], "numbers").mean == 0.5
    with pytest.raises(BmamlError, match="data row 2 holds 'x'"):
        target(["1", "x"], "numbers")


def test_targets_are_never_infinite_and_unknown_classes_told_apart():
    encoded = target([0.0, 0.5]).encode(pd.Series([1e308, -1e308, np.inf, None]))
    assert np.isfinite(np.square(encoded[:2])).all()
    assert np.isnan(encoded[2:]).all()
    classes = target([1, 2])
    assert classes.encode(pd.Series(["1.0", "2", "x", "", "3"])).tolist() == [0, 1, -2, -1, -2]
    assert target([0.0, 0.5]).outside(pd.Series([9.0, 0.1], name="y")).startswith("The target 'y'")
    assert classes.outside(pd.Series([1])) is None


@pytest.mark.parametrize(
    ("values", "kind", "told"),
    [
        ([1.5, 1.5], None, "same in all"),
        (["a", "a"], None, "same in all"),
        ([4, 4], "labels", "same in all"),
        ([4, 4], "numbers", "same in all"),
        ([None, None], None, "same in all"),
        (pd.to_datetime(["2024-01-01", "2025-01-01"]), None, "holds dates"),
        (["2024-01-01", "2025-01-01"], "numbers", "holds dates"),
        ([f"t{place}" for place in range(1_001)], None, "1,001 classes"),
        ([*map(str, range(20)), "n.a."], None, "data row 21 holds 'n.a.'"),
        (
            ["980", "1,050", "2,100"],
            None,
            "'1,050', which looks like a number with separated thousands",
        ),
        (
            ["12,5", "1,050", "3"],
            None,
            "'12,5', which looks like a number with a decimal comma, in data row 1: write 12.5",
        ),
        ([*map(str, range(20)), "1,050"], None, "thousands, in data row 21: write 1050"),
        ([f"{n} mg" for n in range(11)], None, "with a unit, in data row 1: write 0, or ask for"),
        (["31/12/2023", "1/2/2024"], None, "looks like a date, in data row 1: give a number"),
    ],
)
def test_targets_that_cannot_be_predicted(values, kind, told):
    with pytest.raises(BmamlError) as caught:
        target(values, kind)
    assert told in sentence(caught.value).replace("n.a. ", "")


@pytest.mark.parametrize(
    "values",
    [
        ["1,050", "2,100"],
        [f"{number} mg" for number in range(30)],
        ["31/12/2023", "1/2/2024"],
    ],
)
def test_text_that_looks_like_numbers_is_a_class_if_it_is_said_to_be(values):
    assert target(values, "labels").classes == tuple(sorted(values))


@pytest.mark.parametrize(
    "texts",
    [
        ["2D", "3D"],
        [f"{place}th" for place in range(1, 30)],
        [f"{number}{letter}" for number in range(9) for letter in "abc"],
        ["18-25", "26-35", "36+"],
        ["1.2.3", "1.2.10"],
        ["red", "blue", "1,050"],
        [f"{number} Main Street" for number in range(30)],
        ["10:30", "11:45"],
        [f"{number}{'a' * 100_000} b" for number in range(12)],
        ["1", "2.5"],
        [],
    ],
)
def test_names_with_numbers_in_them_are_names(texts):
    assert looks_like(np.array(texts, object)) is None


@pytest.mark.parametrize(
    ("texts", "instead"),
    [
        (["-1,050.5"], "-1050.5"),
        (["1\u202f050"], "1050"),
        (["1.050,5"], "1050.5"),
        (["1050,5", "1,050"], "1050.5"),
        ([f"{number},5 µg/l" for number in range(20)], "0.5"),
        ([f"${number}" for number in range(20)], "0"),
        ([f"{number} %" for number in range(20)], "0"),
        (["31.12.2023 10:30", "", "5 Jan 2024"], "2024-12-31"),
        (["2023/1/5"], "2024-12-31"),
    ],
)
def test_numbers_and_dates_in_other_spellings_are_recognised(texts, instead):
    assert looks_like(np.array(texts, object)).instead == instead


def test_what_a_target_is_taken_for_is_told():
    assert target([0.5, 12.25]).told("y") == (
        "The target 'y' is taken for numbers, 0.5 to 12.25 in training tasks."
    )
    assert target(["b", "a"]).told("y") == "The target 'y' is taken for 2 classes: 'a', 'b'."
    assert target(list("abcdefg")).told("y").endswith("7 classes: 'a', 'b', 'c', 'd', 'e', ….")


EXAMPLES = [
    NumberColumn("a", 1.0, 2.0, 0.5, -1.0, 7.0, True),
    DateColumn("d", "2024-01-01", NumberColumn("d", 1.0, 2.0, 0.5, 0.0, 7.0, False)),
    CategoryColumn("k", ("x", "ü"), True, False),
    NumberTarget(0.5, 2.0, -1.0, 1.0),
    ClassTarget((0, 1, 2.5)),
    ClassTarget(("no", "yes")),
    ClassTarget((False, True)),
]


@pytest.mark.parametrize("column", EXAMPLES, ids=str)
def test_columns_survive_json(column):
    text = json.dumps(column.to_json(), allow_nan=False)
    assert type(column).from_json(json.loads(text)) == column


@pytest.mark.parametrize(
    "since", ["2024-02-30", "NaT", "today", "2024-01-01T00:00+02:00", "٢٠٢٤-٠١-٠١"]
)
def test_a_date_column_needs_a_date(since):
    with pytest.raises(BmamlError, match="since of 'd' is not a date"):
        DateColumn.from_json({**EXAMPLES[1].to_json(), "since": since})


BAD = [None, "", -1, 0, float("nan"), float("inf"), [], {}, True, "x", 10**400, [[]], ["x", "x"]]


@pytest.mark.parametrize("column", EXAMPLES, ids=str)
@settings(deadline=None, max_examples=40)
@given(st.data())
def test_a_changed_json_is_refused_or_still_makes_sense(column, data):
    values = column.to_json()
    name = data.draw(st.sampled_from(sorted(values)))
    if data.draw(st.booleans()):
        del values[name]
    else:
        values[name] = data.draw(st.sampled_from(BAD))
    values |= data.draw(st.sampled_from([{}, {"more": 1}]))
    try:
        read = type(column).from_json(values)
    except BmamlError as error:
        sentence(error, "damaged")
    else:
        encoded = read.encode(pd.Series([None, "2024-01-01"] if "since" in values else [None, 1.0]))
        assert len(encoded) == 2
        assert not np.isinf(encoded).any()


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 12).flatmap(series))
def test_any_column_is_learned_left_out_or_refused(column):
    column.name = "c"
    try:
        found = learn_column(column, np.arange(len(column)) % 3, np.arange(len(column)))
    except LeftOut:
        pass
    except BmamlError as error:
        sentence(error)
    else:
        encoded = found.encode(column)
        assert encoded.shape == (len(column), found.width)
        assert np.isfinite(encoded).all()
        assert found.outside(column) is None
        assert type(found).from_json(json.loads(json.dumps(found.to_json()))) == found
        assert found.note(column) is None or found.note(column).endswith(".")
