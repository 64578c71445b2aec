"""Files of every kind: the right table, or one sentence."""

import gzip
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bmaml.errors import BmamlError
from bmaml.tables import read_table
from bmaml.tables.csv_file import EMPTY, read_csv
from tests.tables.frames import measurements, sentence

PLAIN = "name,x,y\nAnna,1,2.5\nÅsa,2,\n"
EXPECTED = pd.DataFrame({"name": pd.Categorical(["Anna", "Åsa"]), "x": [1, 2], "y": [2.5, np.nan]})


def cases(table):
    """Named by their keys: what is in a compressed file, the time among it, is no name for a test."""
    return [pytest.param(*values, id=name) for name, values in table.items()]


@pytest.mark.parametrize(
    ("name", "content"),
    cases(
        {
            "plain": ("a.csv", PLAIN.encode()),
            "a mark at the start": ("a.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
            "a mark before quotes": (
                "a.csv",
                b"\xef\xbb\xbf" + PLAIN.replace("name", '"name"').encode(),
            ),
            "ends of lines of Windows": ("a.csv", PLAIN.replace("\n", "\r\n").encode()),
            "blank lines at the end": ("a.csv", (PLAIN + "\n\n  \n").encode()),
            "blank lines at the start": ("a.csv", ("\n\n" + PLAIN).encode()),
            "no end of the last line": ("a.csv", PLAIN.rstrip().encode()),
            "quotes": ("a.csv", PLAIN.replace("Anna", '"Anna"').encode()),
            "separators at the end of rows": ("a.csv", b"name,x,y\nAnna,1,2.5,\n\xc3\x85sa,2,,\n"),
            "a short row": ("a.csv", PLAIN.replace("2,\n", "2\n").encode()),
            "tabs": ("a.tsv", PLAIN.replace(",", "\t").encode()),
            "tabs in text": ("a.txt", PLAIN.replace(",", "\t").encode()),
            "semicolons": ("a.csv", PLAIN.replace(",", ";").encode()),
            "decimal commas": ("a.csv", PLAIN.replace(",", ";").replace(".", ",").encode()),
            "compressed": ("a.csv.gz", gzip.compress(PLAIN.encode())),
            "capital letters": ("A.CSV.GZ", gzip.compress(PLAIN.encode())),
        }
    ),
)
def test_the_same_table_in_many_spellings(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), EXPECTED)
    pd.testing.assert_frame_equal(read_table(str(tmp_path / name)), EXPECTED)


def test_quotes_keep_separators_quotes_and_ends_of_lines(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,"b,c"\n"x, ""y""\nz",1\n😀,2\n', encoding="utf-8")
    frame = read_table(path)
    assert list(frame["a"]) == ['x, "y"\nz', "😀"]
    assert list(frame["b,c"]) == [1, 2]


@pytest.mark.parametrize(
    ("name", "content", "told"),
    cases(
        {
            "empty": ("a.csv", b"", "is empty"),
            "blank": ("a.csv", b"\n \n", "is empty"),
            "compressed emptiness": ("a.csv.gz", gzip.compress(b""), "is empty"),
            "names only": ("a.csv", b"a,b\n", "no rows"),
            "names twice": ("a.csv", b"a,b,a\n1,2,3\n", "more than one column 'a'"),
            "latin-1": ("a.csv", "a,b\nx,1\né,2\n".encode("latin-1"), "not UTF-8: line 3"),
            "latin-1 names": ("a.csv", "é,b\nx,1\n".encode("latin-1"), "not UTF-8: line 1"),
            "compressed latin-1": ("a.csv.gz", gzip.compress("é\n1\n".encode("latin-1")), "not UTF-8"),
            "utf-16": ("a.csv", "a,b\n1,2\n".encode("utf-16"), "UTF-16"),
            "utf-16 without a mark": ("a.csv", "a,b\n1,2\n".encode("utf-16-le"), "zero bytes"),
            "long first row": ("a.csv", b"a,b\n1,2,3\n4,5,6\n", "more cells"),
            "long later row": ("a.csv", b"a,b\n1,2\n4,5,6\n", "line 3"),
            "open quote": ("a.csv", b'a,b\n1,"2\n3,4\n', "cannot be read"),
            "cut off": ("a.csv.gz", gzip.compress(PLAIN.encode() * 99)[:-20], "complete"),
            "not compressed": ("a.csv.gz", PLAIN.encode(), "cannot be read"),
            "compressed, but no such name": ("a.csv", gzip.compress(PLAIN.encode()), "not UTF-8"),
            "a spreadsheet": ("a.xlsx", b"PK", "name ends in .csv"),
            "no suffix": ("table", b"a\n1\n", "name ends in .csv"),
            "no parquet": ("a.parquet", PLAIN.encode(), "not a Parquet file"),
            "empty parquet": ("a.pq", b"", "is empty"),
        }
    ),
)
def test_a_bad_file_gets_one_sentence_that_names_it(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(BmamlError) as caught:
        read_table(path)
    assert told in sentence(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["missing.csv", "missing", "a\0.csv", "https://example.org/a.csv"])
def test_a_file_that_is_not_there(name):
    with pytest.raises(BmamlError, match="no file"):
        read_table(name)


@pytest.mark.parametrize("name", ["folder", "folder.csv", "folder.parquet"])
def test_a_folder(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(BmamlError, match="is a folder"):
        read_table(tmp_path / name)


def test_no_rows_can_be_allowed(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n")
    assert list(read_table(tmp_path / "a.csv", allow_empty=True).columns) == ["a", "b"]


@pytest.mark.parametrize("error", [MemoryError, pd.errors.ParserError("C error: out of memory")])
def test_too_little_memory(tmp_path, monkeypatch, error):
    def fail(*given, **named):
        raise error

    (tmp_path / "a.csv").write_text(PLAIN)
    monkeypatch.setattr(pd, "read_csv", fail)
    with pytest.raises(BmamlError, match="does not fit into memory"):
        read_table(tmp_path / "a.csv")


@settings(deadline=None, max_examples=60)
@given(st.one_of(st.binary(max_size=60), st.text('a1,;"\n\r\t.é\0 ', max_size=40).map(str.encode)))
def test_whatever_a_file_holds_it_is_read_or_told(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("any") / "a.csv"
    path.write_bytes(content)
    try:
        assert len(read_table(path)) > 0
    except BmamlError as error:
        sentence(error)


CELLS = {
    "whole": st.integers(-99, 99).map(str),
    "long": st.just(str(2**64 + 1)),
    "leading": st.integers(0, 9).map("0{}".format),
    "numbers": st.floats().map(str),
    "flags": st.sampled_from(["True", "false", "TRUE"]),
    "gaps": st.sampled_from(["", "NA"]),
    "words": st.sampled_from(["yes", "no", "é"]),
}


@st.composite
def files(draw):
    """A few columns, each of one kind of cell and then another."""
    rows = draw(st.integers(2, 12))
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        first, second = (CELLS[draw(st.sampled_from(sorted(CELLS)))] for _ in range(2))
        change = draw(st.integers(0, rows))
        cells = [draw(first if row < change else second) for row in range(rows)]
        columns.append(cells)
    names = [f"c{place}" for place in range(len(columns))] + ["last"]
    lines = [",".join([*cells, "1"]) for cells in zip(*columns, strict=True)]
    return "\n".join([",".join(names), *lines]) + "\n"


@settings(deadline=None, max_examples=50)
@given(files(), st.integers(1, 20))
@example("c0,last\n18446744073709551617,1\n18446744073709551617,1\n0.0,1\nnan,1\n", 1)
def test_pieces_and_the_whole_agree(tmp_path_factory, content, piece):
    path = tmp_path_factory.mktemp("pieces") / "a.csv"
    path.write_text(content, encoding="utf-8")
    pd.testing.assert_frame_equal(read_csv(path, None, piece=piece), read_csv(path, None))


def test_a_column_that_changes_its_kind_between_pieces(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("gap,word,flag,both\n1,007,True,True\n2,8,False,0\n,x,,1\n4,9.50,True,1\n")
    frame = read_csv(path, None, piece=4)
    assert frame["gap"].dtype == float
    assert list(frame["gap"].fillna(-1)) == [1, 2, -1, 4]
    assert list(frame["word"]) == ["007", "8", "x", "9.50"]
    assert list(frame["flag"].astype(object).fillna("gap")) == [True, False, "gap", True]
    assert list(frame["both"]) == ["True", "0", "1", "1"]


def test_a_long_row_is_found_in_any_piece_and_outside_the_wanted_columns(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n5,6,7\n")
    with pytest.raises(BmamlError, match="line 4"):
        read_csv(path, ["a"], piece=1)


def test_only_the_wanted_columns_in_their_order(tmp_path):
    frame = measurements()
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    for source in (tmp_path / "a.csv", tmp_path / "a.parquet", frame):
        read = read_table(source, columns=["dose", "patient"])
        assert list(read.columns) == ["dose", "patient"]
        np.testing.assert_allclose(read["dose"], frame["dose"], rtol=1e-12)
        assert list(read["patient"]) == list(frame["patient"])
        with pytest.raises(BmamlError) as caught:
            read_table(source, columns=["dose", "doze"])
        assert "no column 'doze'" in sentence(caught.value)
        assert "'dose'" in str(caught.value)


def test_names_that_come_twice_matter_only_if_they_are_wanted(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,a,a.1,b\n1,2,3,4\n")
    assert read_table(path, columns=["a.1", "b"]).to_numpy().tolist() == [[3, 4]]
    frame = pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"])
    assert read_table(frame, columns=["b"]).to_numpy().tolist() == [[3]]
    for source in (path, frame):
        for columns in (["a"], None):
            with pytest.raises(BmamlError, match="more than one column 'a'"):
                read_table(source, columns=columns)


@pytest.mark.parametrize("near", ["Dose", " dose ", "DOSE", "do se"])
def test_a_name_that_is_nearly_right_is_pointed_out(near):
    frame = measurements().rename(columns={"dose": near})
    with pytest.raises(BmamlError) as caught:
        read_table(frame, columns=["patient", "dose"])
    assert f"no column 'dose', but {near!r}: call it 'dose'." in sentence(caught.value)


def test_text_on_demand(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("code,x\n01,1\n1,2\n,3\n")
    frame = read_table(path, text=["code", "absent"])
    assert list(frame["code"].astype(object).fillna("gap")) == ["01", "1", "gap"]


WORDS = ["None", "NA", "null", "n/a", "nan", "x"]


def filled(column):
    return list(column.astype(object).fillna("gap"))


@pytest.mark.parametrize("piece", [1, 1000])
def test_names_may_be_words_that_elsewhere_say_that_nothing_is_there(tmp_path, piece):
    path = tmp_path / "a.csv"
    path.write_text("task,y,z\n" + "".join(f"{word},{word},{word}\n" for word in [*WORDS, '""']))
    frame = read_csv(path, None, text=["task"], literal=["task", "y"], piece=piece)
    assert filled(frame["task"]) == filled(frame["y"]) == [*WORDS, "gap"]
    assert filled(frame["z"]) == ["gap"] * 5 + ["x", "gap"]


@pytest.mark.parametrize("piece", [1, 1000])
def test_in_a_column_of_numbers_these_words_say_so_still(tmp_path, piece):
    path = tmp_path / "a.csv"
    path.write_text("task,y,flag\na,1,True\n" + "".join(f"b,{word},{word}\n" for word in WORDS[:5]))
    frame = read_csv(path, None, text=["task"], literal=["task", "y", "flag"], piece=piece)
    assert filled(frame["y"]) == [1, *["gap"] * 5]
    assert filled(frame["flag"]) == [True, *["gap"] * 5]


def test_the_words_for_nothing_are_those_of_pandas():
    from pandas._libs.parsers import STR_NA_VALUES

    assert set(EMPTY) == STR_NA_VALUES


def test_a_frame_is_taken_as_it_is():
    frame = measurements()
    assert read_table(frame) is frame


def test_parquet_of_pandas_with_an_index_and_all_kinds_of_columns(tmp_path):
    frame = measurements(tasks=3, rows=2)
    frame["long"] = pd.array([2**60 + 1, None, 1, 2, 3, 4], "Int64")
    frame["lists"] = [[1], [2], [1, 2], [], None, [3]]
    path = tmp_path / "a.parquet"
    frame.set_index("patient").to_parquet(path)
    read = read_table(path)
    assert list(read["patient"]) == list(frame["patient"])
    assert isinstance(read["drug"].dtype, pd.CategoricalDtype)
    assert read["long"][0] == 2**60 + 1
    assert read["visit"].tolist() == frame["visit"].tolist()
    frame.set_index(np.arange(6) * 2).to_parquet(path)
    assert list(read_table(path).columns) == list(frame.columns)


def test_parquet_without_rows(tmp_path):
    measurements().head(0).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(BmamlError, match="no rows"):
        read_table(tmp_path / "a.parquet")


def test_a_damaged_parquet_file(tmp_path):
    path = tmp_path / "a.parquet"
    measurements().to_parquet(path)
    whole = path.read_bytes()
    for content in (whole[:-30], whole[:100] + b"\0" * 400 + whole[500:]):
        path.write_bytes(content)
        with pytest.raises(BmamlError, match="not a Parquet file"):
            read_table(path)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    measurements().to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BmamlError, match=r"pip install '\.\[parquet\]'"):
        read_table(tmp_path / "a.parquet")


def test_importing_costs_nothing():
    code = "import sys, bmaml.tables; print({'pandas', 'sklearn', 'jax', 'pyarrow'} & set(sys.modules))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "set()"
