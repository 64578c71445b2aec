import os
import shutil

import jax
import numpy as np
import pytest
from PIL import Image

from bmaml.errors import BmamlError
from bmaml.tasks.images import ImageFolder
from bmaml.tasks.images.skipped import LeftOutWarning
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


def test_a_class_of_two_parts_is_refused(tmp_path):
    for part in ("train", "val", "test"):
        write(tmp_path / part, classes=2)
    with pytest.raises(BmamlError, match="the class class0 both for train and for validation"):
        ImageFolder(str(tmp_path), size=8).read("train")


def test_what_is_not_there_is_said(tmp_path):
    with pytest.raises(BmamlError, match="cannot be read"):
        ImageFolder(str(tmp_path / "missing")).read("train")
    with pytest.raises(BmamlError, match="has no images"):
        ImageFolder(str(tmp_path)).read("train")
    with pytest.raises(BmamlError, match="too few classes to keep any for test"):
        ImageFolder(write(tmp_path, classes=2)).read("test")
    with pytest.raises(ValueError, match="leave classes for training"):
        ImageFolder("folder", test_share=0.9)


def all_of_it(folder, **options):
    """A folder of which all classes are for training."""
    return ImageFolder(str(folder), size=8, validation_share=0.0, test_share=0.0, **options)


def test_files_and_folders_of_every_kind(tmp_path):
    for label in "abc":
        paint(tmp_path / label / "1.png")
    paint(tmp_path / "a" / "deep" / "down" / "2.PNG")
    paint(tmp_path / "b" / "näme, with\nlines 雪.png")
    paint(tmp_path / "b" / os.fsdecode(b"\xff.png"))
    (tmp_path / "c" / "link.png").symlink_to(tmp_path / "a" / "1.png")
    (tmp_path / "b" / "round").symlink_to(tmp_path / "b")
    # What is no image, and not taken for one.
    paint(tmp_path / "a" / ".hidden.png")
    paint(tmp_path / ".cache" / "1.png")
    (tmp_path / "empty").mkdir()
    (tmp_path / "c" / "folder.png").mkdir()
    (tmp_path / "loose.txt").touch()
    table = all_of_it(tmp_path).read("train")
    assert table.names == ("a", "b", "c")
    assert table.counts.tolist() == [2, 3, 2]


def test_every_kind_of_broken_file_is_named_and_counted(tmp_path):
    for label in "ab":
        paint(tmp_path / label / "sound.png")
    (tmp_path / "a" / "empty.png").touch()
    (tmp_path / "a" / "link.png").symlink_to(tmp_path / "nowhere.png")
    (tmp_path / "a" / "two\nlines.png").write_text("text")
    os.mkfifo(tmp_path / "b" / "pipe.png")
    with pytest.warns(LeftOutWarning, match="4 of 6 files .* left out: ") as told:
        table = all_of_it(tmp_path).read("train")
    assert table.counts.tolist() == [1, 1]
    message = str(told[0].message)
    for reason in ("an empty file", "a link that points nowhere", "not a file", "in no format"):
        assert reason in message
    assert "\n" not in message
    shutil.rmtree(tmp_path / "b")
    (tmp_path / "a" / "sound.png").unlink()
    with pytest.raises(BmamlError, match="None of the 3 files is an image that can be read, such as"):
        all_of_it(tmp_path).read("train")


def test_classes_may_have_few_images_and_too_small_ones_are_left_out(tmp_path):
    for part in ("train", "val"):
        for label, count in enumerate((4, 1, 3, 7)):
            for seed in range(count):
                paint(tmp_path / part / f"class{label}-{part}" / f"{seed}.png", seed)
    source = ImageFolder(str(tmp_path), size=8, ways=3, shots=1, validation_tasks=20)
    with pytest.warns(LeftOutWarning, match="1 of 4 training classes have fewer than the 2 .*: class1"):
        training_set = source.training_set(jax.random.key(0))
    assert training_set.images.counts.tolist() == [4, 3, 7]
    with pytest.warns(LeftOutWarning, match="1 of 4 validation classes"):
        tasks = source.held_out("validation")
    assert tasks.compact.query.shape == (20, 3, 2)  # the smallest has two to spare
    assert 4 not in np.asarray(tasks.compact.support)  # the image of the class that is left out
    with pytest.raises(BmamlError, match=r"4 classes .* of 3 training classes with at least 2"):
        ImageFolder(str(tmp_path), size=8, ways=4).training_set(jax.random.key(0))
