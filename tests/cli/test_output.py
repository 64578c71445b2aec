import csv
import os
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bmaml.cli.output import write_frame
from bmaml.errors import BmamlError
from bmaml.pictures import PicturePredictions, PictureSuggestion, suggestions_frame

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
    with pytest.raises(BmamlError, match="Cannot write to"):
        write_frame(predictions.frame(), tmp_path / "missing" / "out.csv")
    assert os.listdir(tmp_path) == []
