import os
import shutil

import jax
import numpy as np
import pytest
from PIL import Image

import bmaml.pictures.question as question
from bmaml.errors import BmamlError, OutsideTrainingWarning
from bmaml.models import ConvFeatures, features_and_heads, mlp
from bmaml.pictures import LeftOutWarning, PictureModel, predict_folder
from bmaml.presets import emaml
from bmaml.tasks import ImageFolder
from bmaml.tasks.images.image_file import ImageForm
from bmaml.trained import Compiled, of_seed
from bmaml.training_state import Example, begin
from tests.pictures.conftest import COLOURS, dab


def check(predictions, classes):
    """The properties of any predictions."""
    rows = len(predictions.files)
    assert predictions.classes == tuple(sorted(classes))
    assert predictions.probabilities.shape == (rows, len(classes))
    np.testing.assert_allclose(predictions.probabilities.sum(1), 1.0, atol=1e-5)
    assert predictions.entropy.shape == predictions.mutual_information.shape == (rows,)
    assert np.all((predictions.entropy >= 0) & (predictions.entropy <= np.log(len(classes)) + 1e-5))
    assert np.all(predictions.mutual_information <= predictions.entropy + 1e-5)


def test_colours_are_told_apart(model, support, query):
    predictions = predict_folder(model, support, query)
    check(predictions, COLOURS)
    assert list(predictions.files) == sorted(
        [f"{name} one.png" for name in COLOURS] + [f"more/{name}/two.jpg" for name in COLOURS]
    )
    assert predictions.labels == [
        next(name for name in COLOURS if name in file) for file in predictions.files
    ]
    assert predictions.skipped == ()


def test_pictures_unlike_those_of_training_get_a_warning(model, support, query):
    for path in query.rglob("*one.png"):
        noise = np.random.default_rng(0).integers(0, 2, (20, 20, 3)) * 255
        Image.fromarray(noise.astype(np.uint8)).save(path)
    with pytest.warns(OutsideTrainingWarning, match=r"The query is unlike .*detail: 3 pictures"):
        predict_folder(model, support, query)


def test_fewer_classes_than_trained_are_all_there_are(model, support, query):
    shutil.rmtree(support / "blue")
    predictions = predict_folder(model, support, query)
    check(predictions, ("green", "red"))
    of_known = [i for i, file in enumerate(predictions.files) if "blue" not in file]
    assert all(predictions.labels[i] in predictions.files[i] for i in of_known)


def test_predictions_do_not_depend_on_how_many_are_made_at_a_time(model, support, query, monkeypatch):
    whole = predict_folder(model, support, query)
    monkeypatch.setattr(question, "ROWS", 4)
    parts = predict_folder(model, support, query)
    assert parts.files == whole.files
    np.testing.assert_allclose(parts.probabilities, whole.probabilities, atol=1e-5)
    np.testing.assert_allclose(parts.entropy, whole.entropy, atol=1e-5)


def test_one_picture_can_be_asked_about(model, support, query):
    whole = predict_folder(model, support, query)
    one = predict_folder(model, str(support), query / "red one.png")
    assert one.files == ("red one.png",)
    row = whole.files.index("red one.png")
    np.testing.assert_allclose(one.probabilities[0], whole.probabilities[row], atol=1e-5)


def test_more_steps_are_taken_if_asked_for(model, support, query):
    prior = predict_folder(model, support, query, steps=0)
    assert np.ptp(prior.probabilities, axis=1).max() < 0.99
    assert not np.allclose(prior.probabilities, predict_folder(model, support, query).probabilities)


def test_pictures_are_read_as_in_training(model, tmp_path):
    path = dab(tmp_path / "pictures" / "a" / "tall.jpg", (200, 100, 50), size=(33, 71))
    source = ImageFolder(
        str(tmp_path / "pictures"), size=model.form.size, validation_share=0.0, test_share=0.0
    )
    np.testing.assert_array_equal(source.read("train").pixels[0], model.form.read(path))


def test_files_that_are_no_pictures_are_named_and_left_out(model, support, query):
    whole = predict_folder(model, support, query)
    (support / "red" / "empty.png").touch()
    (query / "text.png").write_text("no picture")
    (query / "notes.txt").write_text("not even called one")
    (query / ".hidden.png").write_text("not looked at")
    (query / "nowhere.png").symlink_to(query / "gone.png")
    (query / "two\nlines.gif").write_bytes(b"GIF89a")
    (query / "folder.png").mkdir()
    (query / "circle").symlink_to(query)
    with pytest.warns(LeftOutWarning, match="4 of 16 files .* and were left out: ") as told:
        predictions = predict_folder(model, support, query)
    assert str(query / "nowhere.png") + " (a link that points nowhere)" in str(told[0].message)
    assert "\n" not in str(told[0].message)
    assert predictions.files == whole.files
    np.testing.assert_allclose(predictions.probabilities, whole.probabilities, atol=1e-5)
    reasons = {os.path.basename(file): reason for file, reason in predictions.skipped}
    assert reasons["empty.png"] == "an empty file"
    assert reasons["text.png"] == "in no format that is known"
    assert len(predictions.skipped) == len(reasons) == 4


def test_names_may_be_anything(model, support, query):
    (support / "red").rename(support / 'rot, "hell"\nund 红')
    strange = os.fsdecode(b"bl\xff\n\xc3\xa4u, 1 .png")
    (query / "blue one.png").rename(query / strange)
    predictions = predict_folder(model, support, query)
    check(predictions, [path.name for path in support.iterdir()])
    assert strange in predictions.files


@pytest.mark.parametrize("orientation", range(2, 9))
def test_a_turned_camera_changes_nothing(model, tmp_path, orientation):
    from PIL import ImageOps

    upright = tmp_path / "upright.png"
    Image.open(dab(tmp_path / "a.png", (10, 20, 30), size=(40, 20))).save(upright)
    half = np.asarray(Image.open(upright)).copy()
    half[:10, :20] = 250
    Image.fromarray(half).save(upright)
    # What a camera stores is the picture turned back.
    back = {2: 2, 3: 3, 4: 4, 5: 5, 6: 8, 7: 7, 8: 6}[orientation]
    notes = Image.Exif()
    notes[0x0112] = back
    image = Image.fromarray(half)
    image.info["exif"] = notes.tobytes()
    stored = ImageOps.exif_transpose(Image.open(_saved(image, tmp_path / "back.png", notes)))
    notes[0x0112] = orientation
    path = _saved(Image.fromarray(np.asarray(stored)), tmp_path / "stored.png", notes)
    np.testing.assert_array_equal(model.form.read(path), model.form.read(upright))


def _saved(image, path, notes):
    image.save(path, exif=notes)
    return path


def without_training(**options) -> PictureModel:
    """A model with particles as they are drawn, which is enough for what is tested with it."""
    form = ImageForm(8, "grey", inverted=True)
    features = ConvFeatures(filters=4, **options)
    learner = emaml(
        features_and_heads(features, mlp(None, 3, hidden=())),
        targets="labels",
        num_particles=2,
        inner_steps=1,
    )
    example = Example(
        jax.ShapeDtypeStruct((3, *form.shape), np.float32), jax.ShapeDtypeStruct((3,), np.int32)
    )
    snapshot = jax.jit(lambda: begin(learner, [0], example.inputs(), 1))()
    trained = of_seed(snapshot, 0, 0, learner, [], example, Compiled(learner))
    return PictureModel(trained, form, 3)


def test_a_transductive_model_sees_support_and_query_together(support, query, monkeypatch):
    model = without_training(norm="transductive")
    predictions = predict_folder(model, support, query)
    check(predictions, COLOURS)
    monkeypatch.setattr(question, "ROWS", 4)
    in_parts = predict_folder(model, support, query)
    check(in_parts, COLOURS)
    assert not np.allclose(in_parts.probabilities, predictions.probabilities, atol=1e-6)


def test_what_cannot_be_answered_gets_a_sentence(model, support, query, tmp_path):
    def refused(match, support=support, query=query):
        with pytest.raises(BmamlError, match=match) as error:
            predict_folder(model, support, query)
        assert "\n" not in str(error.value)

    refused("told apart by examples: give --support", support=None)
    refused("missing does not exist", support=tmp_path / "missing")
    refused("missing does not exist", query=tmp_path / "missing")
    refused("unlabelled has one folder, more: .* at least two", support=query)
    refused("two has no folders: .* at least two", support=_folder(tmp_path / "two"))
    refused(r"red one\.png cannot be read", support=query / "red one.png")
    refused("two has no pictures", query=tmp_path / "two")
    (tmp_path / "two" / "a.jpg").write_text("none")
    refused(r"None of the 1 files .*/a\.jpg \(in no format", query=tmp_path / "two")

    (support / "empty").mkdir()
    refused("has 4 classes, but this run tells 3 apart: train one with --ways 4, or take 1")
    shutil.rmtree(support / "blue")
    refused("labelled/empty needs at least one labelled picture, and it has none")
    (support / "empty" / "a.png").write_text("none")
    refused("empty needs .* and none of its files can be read")
    shutil.rmtree(support / "empty")
    with pytest.raises(ValueError, match="steps is -1"):
        predict_folder(model, support, query, steps=-1)


def _folder(path):
    path.mkdir()
    return path
