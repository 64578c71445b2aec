import jax
import numpy as np
import pytest
from PIL import Image

from bmaml.errors import BmamlError
from bmaml.tasks.images import ImageFolder
from tests.tasks.images.made_up import paint


def write(folder, classes=10, images=4):
    for label in range(classes):
        for i in range(images):
            mode = "L" if i % 2 else "RGB"
            paint(folder / f"class{label}" / f"{i}.png", seed=i, size=20 + 3 * label, mode=mode)
    return str(folder)


def test_classes_are_dealt_out_to_parts(tmp_path):
    source = ImageFolder(write(tmp_path), size=16, ways=2, shots=1, query_shots=2)
    names = {part: set(source.read(part).names) for part in ("train", "validation", "test")}
    assert {part: len(each) for part, each in names.items()} == {
        "train": 6,
        "validation": 2,
        "test": 2,
    }
    assert len(set().union(*names.values())) == 10
    other = ImageFolder(str(tmp_path), size=16, seed=1)
    assert set(other.read("train").names) != names["train"]
    training_set = source.training_set(jax.random.key(0))
    assert training_set.images.pixels.shape == (24, 16, 16, 3)


def test_grey_is_grey_and_transparency_is_white(tmp_path):
    for label in "abc":
        path = tmp_path / "train" / label / "image.png"
        path.parent.mkdir(parents=True)
        Image.new("RGBA", (30, 20), (0, 0, 0, 0)).save(path)
    table = ImageFolder(str(tmp_path), size=8, colour=False).read("train")
    assert table.pixels.shape == (3, 8, 8, 1)
    assert table.pixels.min() == 255
    with pytest.raises(BmamlError, match="none for test: add test"):
        ImageFolder(str(tmp_path)).read("test")


def test_broken_files_are_named_counted_and_left_out(tmp_path):
    folder = write(tmp_path / "data", classes=3)
    (tmp_path / "data" / "class1" / "2.png").write_bytes(b"no image")
    (tmp_path / "data" / "class1" / "notes.txt").write_text("no image, and none is expected")
    source = ImageFolder(folder, size=8, validation_share=0.0, test_share=0.0)
    with pytest.warns(UserWarning, match=r"1 of 12 files .* left out: .*class1/2\.png"):
        table = source.read("train")
    assert table.counts.tolist() == [4, 3, 4]
    np.testing.assert_array_equal(source.read("train").counts, table.counts)


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(BmamlError, match="cannot be read"):
        ImageFolder(str(tmp_path / "missing")).read("train")
    with pytest.raises(BmamlError, match="has no images"):
        ImageFolder(str(tmp_path)).read("train")
    with pytest.raises(BmamlError, match="too few classes to keep any for test"):
        ImageFolder(write(tmp_path, classes=2)).read("test")
    with pytest.raises(ValueError, match="leave classes for training"):
        ImageFolder("folder", test_share=0.9)
