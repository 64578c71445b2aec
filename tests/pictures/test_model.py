import json
import shutil

import pytest

from bmaml.errors import BmamlError, RunError
from bmaml.pictures import PictureModel
from bmaml.tasks import Glyphs, ImageFolder, MiniImageNet, Omniglot
from bmaml.tasks.images.image_file import ImageForm
from tests.pictures.conftest import SIZE, WAYS


def test_a_run_is_loaded_without_the_pictures_it_was_trained_on(model):
    assert model.form == ImageForm(SIZE, "colour")
    assert model.ways == WAYS
    assert model.telling_apart(WAYS) is model.trained
    assert model.telling_apart(2) is model.telling_apart(2)
    for classes in (1, WAYS + 1):
        with pytest.raises(ValueError, match="tells 2 to 3 apart"):
            model.telling_apart(classes)


@pytest.mark.parametrize(
    ("source", "form"),
    [
        (Glyphs(), ImageForm(28, "grey", inverted=True)),
        (Omniglot("nowhere", size=20), ImageForm(20, "grey", inverted=True)),
        (MiniImageNet("nowhere"), ImageForm(84, "colour")),
        (ImageFolder("nowhere", size=32), ImageForm(32, "colour")),
        (ImageFolder("nowhere", colour=False), ImageForm(84, "grey")),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_source_tells_the_form_of_its_images_without_reading_any(source, form):
    assert source.form == form


def edited(run_folder, copy, edit):
    """A copy of a run without checkpoints, with another run.json."""
    copy.mkdir()
    settings = json.loads((run_folder / "run.json").read_text())
    edit(settings)
    (copy / "run.json").write_text(json.dumps(settings))
    return copy


def test_other_runs_get_a_sentence(run_folder, tmp_path):
    def on_curves(settings):
        settings["description"] |= {"tasks": "sinusoid", "task_options": {}}

    with pytest.raises(BmamlError, match="was trained on sinusoid, not on images"):
        PictureModel.load(edited(run_folder, tmp_path / "curves", on_curves))
    with pytest.raises(RunError, match="is not a run folder"):
        PictureModel.load(tmp_path)

    def bare(settings):
        settings["description"] = None

    with pytest.raises(RunError, match="no description"):
        PictureModel.load(edited(run_folder, tmp_path / "bare", bare))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"size": 20}, "describes them as"),
        ({"size": -1}, "at least one pixel"),
        ({"ways": 4}, "another model"),
        ({"sizes": 20}, "unexpected keyword"),
    ],
)
def test_a_tampered_description_gets_a_sentence(run_folder, tmp_path, options, sentence):
    copy = shutil.copytree(run_folder, tmp_path / "copy")
    settings = json.loads((copy / "run.json").read_text())
    settings["description"]["task_options"] |= options
    (copy / "run.json").write_text(json.dumps(settings))
    with pytest.raises(BmamlError, match=sentence):
        PictureModel.load(copy)


def test_a_run_keeps_what_its_pictures_looked_like(model, run_folder, tmp_path):
    assert model.ranges["contrast"][1] < 0.6

    def damaged(settings):
        settings["ranges"] = {"contrast": [1, 2, 3]}

    copy = shutil.copytree(run_folder, tmp_path / "copy")
    shutil.copy(edited(run_folder, tmp_path / "edited", damaged) / "run.json", copy)
    with pytest.raises(RunError, match=r"ranges in .* are damaged"):
        PictureModel.load(copy)
