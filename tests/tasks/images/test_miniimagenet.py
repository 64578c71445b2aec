import os
import pickle
import warnings

import jax
import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.tasks.images import MiniImageNet, decode
from bmaml.tasks.images.skipped import IncompleteWarning
from tests.tasks.images.made_up import paint

# Made-up copies are small.
pytestmark = pytest.mark.filterwarnings(f"ignore::{IncompleteWarning.__module__}.IncompleteWarning")

CLASSES = {"train": ("n03", "n01", "n02"), "val": ("n04", "n05"), "test": ("n06", "n07", "n08")}
PER_CLASS = 4


def names(short):
    return [(f"{label}{i:08d}.png", label) for label in CLASSES[short] for i in range(PER_CLASS)]


def seed_of(name):
    return int(name.removeprefix("n").removesuffix(".png")) % 2**31


def write_lists(folder, lists=None, shorts=tuple(CLASSES)):
    lists = lists or folder
    lists.mkdir(parents=True, exist_ok=True)
    for short in shorts:
        rows = "".join(f"{name},{label}\n" for name, label in names(short))
        (lists / f"{short}.csv").write_text("filename,label\n" + rows)


def flat(folder, place="images"):
    write_lists(folder)
    for short in CLASSES:
        for name, _ in names(short):
            paint(folder / place / name, seed_of(name))


def flat_below(folder):
    write_lists(folder, folder / "splits")
    for short in CLASSES:
        for name, _ in names(short):
            paint(folder / name, seed_of(name))


def listed_by_class(folder):
    write_lists(folder)
    for short in CLASSES:
        for name, label in names(short):
            paint(folder / "images" / label / name, seed_of(name))


def by_class(folder):
    for short in CLASSES:
        for name, label in names(short):
            paint(folder / short / label / name, seed_of(name))


def images(short):
    return np.stack(
        [
            np.random.default_rng(seed_of(name)).integers(0, 256, (12, 12, 3), np.uint8)
            for name, _ in names(short)
        ]
    )


def pickled(folder):
    for short, labels in CLASSES.items():
        rows = {
            label: list(range(PER_CLASS * i, PER_CLASS * (i + 1))) for i, label in enumerate(labels)
        }
        content = {"image_data": images(short), "class_dict": rows}
        (folder / f"mini-imagenet-cache-{short}.pkl").write_bytes(pickle.dumps(content, 2))


def pickled_with_labels(folder):
    for short, labels in CLASSES.items():
        name = f"miniImageNet_category_split_{'train_phase_' * (short == 'train')}{short}.pickle"
        numbers = [i for i in range(len(labels)) for _ in range(PER_CLASS)]
        content = {"data": images(short), "labels": numbers}
        (folder / name).write_bytes(pickle.dumps(content))


LAYOUTS = [flat, flat_below, listed_by_class, by_class, pickled, pickled_with_labels]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_common_layouts_are_recognised(tmp_path, layout):
    layout(tmp_path)
    source = MiniImageNet(str(tmp_path), size=12)
    for part, short in (("train", "train"), ("validation", "val"), ("test", "test")):
        table = source.read(part)
        assert table.counts.tolist() == [PER_CLASS] * len(CLASSES[short])
        labels = table.names
        if layout is pickled_with_labels:
            labels = [CLASSES[short][int(number)] for number in labels]
        assert sorted(labels) == sorted(CLASSES[short])
        groups = images(short).reshape(-1, PER_CLASS, 12, 12, 3)
        for label, found in zip(labels, np.split(table.pixels, len(labels)), strict=True):
            np.testing.assert_array_equal(found, groups[CLASSES[short].index(label)])


@pytest.mark.parametrize("layout", [flat, pickled])
def test_tasks_come_out_in_the_size_asked_for(tmp_path, layout):
    layout(tmp_path)
    source = MiniImageNet(str(tmp_path), size=8, ways=2, held_out_query=3, validation_tasks=5)
    training_set = source.training_set(jax.random.key(0))
    task = jax.jit(lambda training_set: source.batch(training_set, jax.random.key(0), 2))(training_set)
    assert task.support.x.shape == (2, 2, 8, 8, 3)
    assert 0 <= task.support.x.min() < task.support.x.max() <= 1
    assert len(source.held_out("validation")) == 5


def test_the_second_start_decodes_nothing(tmp_path, monkeypatch):
    flat(tmp_path)
    source = MiniImageNet(str(tmp_path), size=12)
    first = source.read("train")

    def fail(*arguments):
        raise AssertionError("decoded again")

    monkeypatch.setattr(decode, "decode_classes", fail)
    monkeypatch.setattr("bmaml.tasks.images.folder.decode_classes", fail)
    np.testing.assert_array_equal(source.read("train").pixels, first.pixels)


def test_a_changed_photograph_is_seen(tmp_path):
    flat(tmp_path)
    source = MiniImageNet(str(tmp_path), size=12)
    before = np.array(source.read("train").pixels)
    name, _ = names("train")[0]
    paint(tmp_path / "images" / name, seed=12345)
    after = source.read("train").pixels
    assert not np.array_equal(before[0], after[0])
    np.testing.assert_array_equal(before[1:], after[1:])


def test_what_is_wrong_is_named(tmp_path):
    source = MiniImageNet(str(tmp_path), size=12)
    with pytest.raises(
        BmamlError, match=r"looked for val\.csv.*folder val.*mini-imagenet-cache-val\.pkl"
    ):
        source.read("validation")
    write_lists(tmp_path)
    with pytest.raises(BmamlError, match=r"train\.csv lists n0300000000\.png, which is missing"):
        source.read("train")
    flat(tmp_path)
    (tmp_path / "images" / "n0100000002.png").write_bytes(b"no image")
    with pytest.raises(BmamlError, match=r"n0100000002\.png is not an image"):
        source.read("train")
    (tmp_path / "images" / "n0100000002.png").unlink()
    with pytest.raises(BmamlError, match=r"n0100000002\.png cannot be read"):
        source.read("train")
    (tmp_path / "train.csv").write_text("name;class\n")
    with pytest.raises(BmamlError, match=r"train\.csv lists no images"):
        source.read("train")
    (tmp_path / "train.csv").write_text("name,class\na,b\n")
    with pytest.raises(BmamlError, match=r"train\.csv is not a list with the columns"):
        source.read("train")
    pixels = images("train")
    for content in (
        {"image_data": pixels},
        [1],
        pixels,
        {"data": np.zeros(3), "labels": [1]},
        {"data": pixels, "labels": [0, 1]},
        {"image_data": pixels, "class_dict": {"a": [2**70]}},
        {"image_data": pixels, "class_dict": {"a": [0, 1], "b": []}},
        {"image_data": pixels, "class_dict": {"a": [[0], [1]]}},
        {"image_data": pixels[:, :0], "class_dict": {"a": [0, 1]}},
    ):
        (tmp_path / "mini-imagenet-cache-train.pkl").write_bytes(pickle.dumps(content))
        with pytest.raises(BmamlError, match="does not hold miniImageNet as it is known"):
            source.read("train")


def test_an_image_that_cannot_be_read_is_to_be_fetched_or_taken_off_the_list(tmp_path):
    flat(tmp_path)
    (tmp_path / "images" / "n0100000002.png").write_bytes(b"no image")
    with pytest.raises(BmamlError, match=r"fetch it again, or take its line out of .*train\.csv"):
        MiniImageNet(str(tmp_path), size=12).read("train")


def test_lists_of_a_spreadsheet_and_names_that_no_file_can_have(tmp_path):
    flat(tmp_path)
    path, source = tmp_path / "train.csv", MiniImageNet(str(tmp_path), size=12)
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert len(source.read("train").names) == 3
    path.write_text(f"filename,label\n{'a' * 5000}.png,n01\n")
    with pytest.raises(BmamlError, match=r"lists a{100}, which is missing"):
        source.read("train")


@pytest.mark.parametrize(
    "line", ["n0100000002.png,n01", "./n0100000002.png,n01", "n0100000002.png,n02"]
)
def test_a_photograph_that_is_listed_twice_is_named(tmp_path, line):
    flat(tmp_path)
    with open(tmp_path / "train.csv", "a") as file:
        file.write(f"{line}\n")
    with pytest.raises(BmamlError, match=r"train\.csv lists n0100000002\.png 2 times"):
        MiniImageNet(str(tmp_path), size=12).read("train")


def test_a_damaged_list_is_named(tmp_path):
    flat(tmp_path)
    with open(tmp_path / "train.csv", "ab") as file:
        file.write(b"n01000\0\0\0.png,n01\n")
    with pytest.raises(BmamlError, match=r"train\.csv (holds zero bytes|is not a list)"):
        MiniImageNet(str(tmp_path), size=12).read("train")


@pytest.mark.parametrize("layout", [flat, by_class])
def test_classes_for_training_and_for_testing_are_refused(tmp_path, layout):
    layout(tmp_path)
    if layout is flat:
        (tmp_path / "test.csv").write_text((tmp_path / "train.csv").read_text())
    else:
        paint(tmp_path / "test" / "n01" / "n0100000000.png", 1)
    with pytest.raises(BmamlError, match="the class n01 both for train and for test"):
        MiniImageNet(str(tmp_path), size=12).read("train")


class Touch:
    """A pickle of this makes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def test_code_in_a_pickled_copy_is_not_run(tmp_path):
    content = {"image_data": images("train"), "class_dict": Touch(tmp_path / "ran")}
    (tmp_path / "mini-imagenet-cache-train.pkl").write_bytes(pickle.dumps(content))
    with pytest.raises(BmamlError, match=r"cache-train\.pkl is not a pickle.*asks for .*system"):
        MiniImageNet(str(tmp_path)).training_set(jax.random.key(0))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("layout", [flat, by_class, pickled])
def test_a_copy_of_another_size_is_told(tmp_path, layout):
    layout(tmp_path)
    with pytest.warns(
        IncompleteWarning, match=r"test part of miniImageNet .* 20 classes of 600 .* has 3 of 4: "
    ):
        MiniImageNet(str(tmp_path), size=12).read("test")


@pytest.mark.slow
def test_the_real_validation_classes(unpack):
    folder = unpack("miniimagenet/miniimagenet84_val.tar.xz", "splits.tar.xz")
    (folder / "val.csv").write_bytes((folder / "splits" / "miniimagenet_ravi" / "val.csv").read_bytes())
    source = MiniImageNet(str(folder), ways=16, validation_tasks=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error", IncompleteWarning)  # nothing is missing
        table = source.read("validation")
    assert table.pixels.shape == (9600, 84, 84, 3)
    assert table.counts.tolist() == [600] * 16
    task = jax.jit(lambda tasks: tasks[0])(source.held_out("validation"))
    assert task.query.x.shape == (240, 84, 84, 3)
    # Photographs of all kinds: neither dark nor bright on the whole.
    assert 0.3 < task.query.x.mean() < 0.6
