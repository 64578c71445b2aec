import csv
import itertools
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.cli.output import check_out, write_frame
from bmaml.cli.predict import Predict
from bmaml.cli.suggest import Suggest
from bmaml.errors import BmamlError
from bmaml.pictures import PicturePredictions, PictureSuggestion, suggestions_frame
from bmaml.tables import read_table

# All that a file or a folder may be called on a usual disk.
NAMES = st.text(
    st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20
)


def predictions_of(files, classes):
    rng = np.random.default_rng(len(files))
    probabilities = rng.dirichlet(np.ones(len(classes)), len(files)).astype(np.float32)
    entropy = -np.sum(probabilities * np.log(probabilities), axis=1)
    return PicturePredictions(tuple(files), tuple(classes), probabilities, entropy, 0 * entropy)


@given(st.lists(NAMES, min_size=1, max_size=5), st.lists(NAMES, min_size=2, max_size=4, unique=True))
@settings(max_examples=50)
def test_any_names_survive(files, classes):
    predictions = predictions_of(files, classes)
    with tempfile.TemporaryDirectory() as folder:
        write_frame(predictions.frame(), Path(folder, "out.csv"))
        with open(Path(folder, "out.csv"), encoding="utf-8", newline="") as file:
            header, *rows = list(csv.reader(file))
    assert header == ["file", "predicted", *(f"p({name})" for name in classes), "entropy"]
    assert [row[0] for row in rows] == files
    assert [row[1] for row in rows] == predictions.labels
    np.testing.assert_array_equal(
        np.array([row[2:-1] for row in rows], np.float32), predictions.probabilities
    )
    np.testing.assert_array_equal(np.array([row[-1] for row in rows], np.float32), predictions.entropy)


def test_other_programs_read_the_file(tmp_path):
    predictions = predictions_of(["a, b.png", 'say "hi"\n.png', "snö 雪.png"], ["entropy", "file"])
    path = tmp_path / "out.csv"
    write_frame(predictions.frame(), path)
    frame = pd.read_csv(path)
    assert list(frame.columns) == ["file", "predicted", "p(entropy)", "p(file)", "entropy"]
    assert list(frame["file"]) == list(predictions.files)
    assert list(frame["predicted"]) == predictions.labels
    np.testing.assert_allclose(frame["p(file)"], predictions.probabilities[:, 1], rtol=1e-6)


def test_names_that_are_not_unicode_are_escaped(tmp_path):
    write_frame(predictions_of([os.fsdecode(b"\xff.png")], "ab").frame(), tmp_path / "out.csv")
    assert pd.read_csv(tmp_path / "out.csv")["file"][0] == "\\udcff.png"
    frame = suggestions_frame([PictureSuggestion(os.fsdecode(b"\xff.png"), 1.5, "why not")])
    assert frame.to_csv(index=False) == "file,score,reason\n\\udcff.png,1.5,why not\n"


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "out.csv"
    write_frame(predictions_of(["a.png"], "ab").frame(), path)
    before = path.read_bytes()

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BmamlError, match="the disk is full"):
        write_frame(predictions_of(["a.png", "b.png"], "ab").frame(), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["out.csv"]


def test_a_place_that_is_none_gets_a_sentence(tmp_path):
    predictions = predictions_of(["a.png"], "ab")
    with pytest.raises(BmamlError, match="is a folder"):
        write_frame(predictions.frame(), tmp_path)
    with pytest.raises(BmamlError, match=r"There is no folder .*missing to write out\.csv to"):
        write_frame(predictions.frame(), tmp_path / "missing" / "out.csv")
    assert os.listdir(tmp_path) == []


def test_what_is_read_is_not_overwritten_by_any_name(tmp_path, monkeypatch):
    read = tmp_path / "in.csv"
    read.write_text("a\n1\n")
    (tmp_path / "folder").mkdir()
    (tmp_path / "soft.csv").symlink_to(read)
    os.link(read, tmp_path / "hard.csv")
    monkeypatch.chdir(tmp_path)
    names = ["in.csv", "folder/../in.csv", "soft.csv", "hard.csv", tmp_path / "in.csv"]
    for name, inputs in itertools.product(names, ([read, None], [None, Path("in.csv")])):
        with pytest.raises(BmamlError, match="would overwrite what is read"):
            check_out(Path(name), inputs)
    # Not even a file that is still to come, if it is what a link leads to.
    (tmp_path / "later.csv").symlink_to(tmp_path / "missing.csv")
    with pytest.raises(BmamlError, match="would overwrite"):
        check_out(Path("later.csv"), [Path("missing.csv")])
    check_out(None, [read])
    check_out(Path("other.csv"), [read, None])


@pytest.mark.parametrize("name", ["o.csv", "o.CSV.GZ", "o.tsv", "o.txt.gz", "o.parquet", "o.pq"])
def test_a_name_says_what_is_written(tmp_path, name):
    frame = pd.DataFrame({"who": ["a", "b"], "mean": [1.5, 2.0]})
    write_frame(frame, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame.astype({"who": "category"}))
    packed = (tmp_path / name).read_bytes().startswith(b"\x1f\x8b")
    assert packed == name.lower().endswith(".gz")


@pytest.mark.parametrize("name", ["o.xlsx", "o.gz", "o", "o.csv.zip", "o.json"])
def test_a_name_that_says_nothing_known_is_refused(tmp_path, name):
    with pytest.raises(BmamlError, match=r"give a name that ends in \.csv, .*\.parquet"):
        write_frame(pd.DataFrame({"a": [1]}), tmp_path / name)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("command", [Predict, Suggest])
def test_both_commands_refuse_before_they_load(tmp_path, command):
    asks = {"query": tmp_path / "in.csv"} if command is Predict else {"pool": tmp_path / "in.csv"}
    for support in (None, tmp_path / "known.csv"):
        out = support or tmp_path / "in.csv"
        with pytest.raises(BmamlError, match="would overwrite"):
            command(tmp_path, **asks, support=support, out=out).run()
    with pytest.raises(BmamlError, match="a name that ends in"):
        command(tmp_path, **asks, out=tmp_path / "o.xlsx").run()
    with pytest.raises(BmamlError, match="--steps must not be negative"):
        command(tmp_path, **asks, steps=-1).run()
