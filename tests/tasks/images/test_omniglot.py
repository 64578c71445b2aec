import warnings

import jax
import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.tasks.images import Omniglot
from bmaml.tasks.images.skipped import IncompleteWarning
from tests.tasks.images.made_up import paint

# Made-up copies are small.
pytestmark = pytest.mark.filterwarnings(f"ignore::{IncompleteWarning.__module__}.IncompleteWarning")


def write(folder, alphabets=7, characters=2, drawings=3):
    for half in ("background", "evaluation"):
        for alphabet in range(alphabets):
            for character in range(characters):
                for drawing in range(drawings):
                    name = f"{half[0].upper()}{alphabet}/character{character + 1:02d}/{drawing}.png"
                    paint(folder / f"images_{half}" / name, seed=drawing, size=35, mode="L")
    return str(folder)


def alphabets(table):
    return {name.split("/")[0] for name in table.names}


def test_every_sixth_background_alphabet_is_for_validation(tmp_path):
    source = Omniglot(write(tmp_path))
    assert alphabets(source.read("validation")) == {"B5"}
    assert alphabets(source.read("train")) == {"B0", "B1", "B2", "B3", "B4", "B6"}
    assert alphabets(source.read("test")) == {f"E{i}" for i in range(7)}
    assert source.read("train").pixels.shape == (36, 28, 28, 1)


def test_a_copy_that_lacks_alphabets_is_told_and_validates_on_those_that_it_has(tmp_path):
    folder = tmp_path / "images_background"
    for alphabet in ("Arcadian", "Balinese", "Bengali", "Tifinagh"):
        paint(folder / alphabet / "character01" / "1.png", seed=0, size=35, mode="L")
    with pytest.warns(
        IncompleteWarning,
        match=r"validation part of Omniglot .* 158 classes of 20 images, and this copy has 2 of 1:",
    ):
        assert alphabets(Omniglot(str(tmp_path)).read("validation")) == {"Balinese", "Tifinagh"}


def test_too_few_alphabets_for_validation_are_told(tmp_path):
    with pytest.raises(BmamlError, match="has 3 alphabets of 30, too few to keep any for validation"):
        Omniglot(write(tmp_path, alphabets=3)).read("validation")


def test_lists_give_the_other_split_with_or_without_rotations(tmp_path):
    folder = write(tmp_path)
    source = Omniglot(folder, split="vinyals")
    with pytest.raises(BmamlError, match=r"train\.txt, trainval\.txt and test\.txt, are neither"):
        source.read("train")
    (tmp_path / "splits").mkdir()
    train = [f"B0/character01/rot{turn:03d}" for turn in (0, 90, 180, 270)]
    (tmp_path / "splits" / "train.txt").write_text("\n".join(train) + "\n")
    (tmp_path / "splits" / "trainval.txt").write_text("\n".join([*train, "E1/character02"]))
    (tmp_path / "splits" / "test.txt").write_text("E2/character01\nE3/character01\n")
    assert source.read("train").names == ("B0/character01",)
    assert source.read("validation").names == ("E1/character02",)
    assert source.read("test").names == ("E2/character01", "E3/character01")
    (tmp_path / "splits" / "test.txt").write_text("E2/character77\n")
    with pytest.raises(BmamlError, match=r"lists 1 characters that .* E2/character77 for one"):
        source.read("test")


def test_rotations_are_for_training_unless_asked_for_elsewhere(tmp_path):
    folder = write(tmp_path)
    source = Omniglot(folder, rotations=True, shots=1, held_out_query=2, ways=3)
    assert source.training_set(jax.random.key(0)).images.pixels.shape[0] == 36
    assert Omniglot(folder, rotations=True, num_tasks=4).training_set(
        jax.random.key(0)
    ).tasks.rotation.shape == (4, 5)
    assert source.held_out("test").compact.rotation is None
    both = Omniglot(folder, rotations=True, held_out_rotations=True, held_out_query=2)
    assert both.held_out("test").compact.rotation.shape == (600, 5)


def test_other_folders_and_settings_are_refused(tmp_path):
    with pytest.raises(BmamlError, match="is not a copy of Omniglot: images_evaluation/ALPHABET"):
        Omniglot(str(tmp_path)).read("test")
    with pytest.raises(ValueError, match="at least one pixel"):
        Omniglot("folder", size=0)


@pytest.mark.slow
def test_the_real_drawings(unpack):
    folder = unpack("omniglot/omniglot105.tar.xz")
    source = Omniglot(str(folder))
    names = {part: set(source._files(folder, part)) for part in ("train", "validation", "test")}
    sizes = {part: len(each) for part, each in names.items()}
    assert sizes == {"train": 806, "validation": 158, "test": 659}
    with warnings.catch_warnings():
        warnings.simplefilter("error", IncompleteWarning)  # nothing is missing
        source.read("validation")
    assert len(set().union(*names.values())) == 1623
    table = source.read("validation")
    assert alphabets(table) == {
        "Balinese",
        "Early_Aramaic",
        "Inuktitut_(Canadian_Aboriginal_Syllabics)",
        "Mkhedruli_(Georgian)",
        "Tifinagh",
    }
    assert set(table.counts.tolist()) == {20}
    # Ink is 1 and covers little; the border is paper.
    assert 0.02 < table.pixels.mean() / 255 < 0.15
    assert np.median(table.pixels[:, 0]) == 0
    assert table.pixels.max() == 255
    # Drawn by 20 people, a character resembles itself more than others.
    means = table.pixels.reshape(158, 20, -1).astype(float).mean(axis=1)
    image = table.pixels.reshape(158, 20, -1)[:, 0].astype(float)
    nearest = np.argmin(((image[:, None] - means[None]) ** 2).sum(axis=-1), axis=1)
    assert np.mean(nearest == np.arange(158)) > 0.4


@pytest.mark.slow
def test_the_real_split_of_vinyals(unpack):
    folder = unpack("omniglot/omniglot105.tar.xz")
    source = Omniglot(str(folder), split="vinyals")
    names = {part: set(source._files(folder, part)) for part in ("train", "validation", "test")}
    sizes = {part: len(each) for part, each in names.items()}
    assert sizes == {"train": 1028, "validation": 172, "test": 423}
    assert len(set().union(*names.values())) == 1623
    assert source.read("validation").pixels.shape == (3440, 28, 28, 1)
