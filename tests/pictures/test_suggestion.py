import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.pictures import LeftOutWarning, predict_folder, suggest_pictures
from bmaml.pictures.suggestion import describe
from tests.pictures.conftest import dab


@pytest.mark.parametrize("acquisition", [None, "entropy", "mutual_information", "margin"])
def test_the_most_wanted_pictures_come_first(model, support, query, acquisition):
    dab(query / "mixed.png", (125, 115, 35))
    predictions = predict_folder(model, support, query)
    best = np.sort(predictions.probabilities, axis=1)
    scores = {
        "mutual_information": predictions.mutual_information,
        "margin": best[:, -2] - best[:, -1],
    }.get(acquisition, predictions.entropy)
    suggestions = suggest_pictures(model, support, query, 3, acquisition)
    expected = np.argsort(-scores, kind="stable")[:3]
    assert [each.file for each in suggestions] == [predictions.files[row] for row in expected]
    np.testing.assert_allclose([each.score for each in suggestions], scores[expected], atol=1e-5)
    for each, row in zip(suggestions, expected, strict=True):
        assert f"'{predictions.labels[row]}' (" in each.reason
        assert each.reason.startswith("the particles") == (acquisition == "mutual_information")


def test_random_suggestions_are_different_pictures(model, support, query):
    suggestions = suggest_pictures(model, support, query, 6, "random")
    assert len({each.file for each in suggestions}) == 6
    assert all(each.reason.startswith("drawn at random: ") for each in suggestions)
    assert suggestions == suggest_pictures(model, support, query, 6, "random")


def test_labelled_pictures_are_not_suggested(model, support, tmp_path):
    dab(tmp_path / "new.png", (1, 2, 3))
    suggestions = suggest_pictures(model, support, tmp_path)
    assert [each.file for each in suggestions] == ["new.png"]
    with pytest.raises(BmamlError, match="2 pictures were asked of a pool of 1"):
        suggest_pictures(model, support, tmp_path, 2)
    with pytest.raises(BmamlError, match=r"All pictures in .* are labelled"):
        suggest_pictures(model, support, support)


def test_files_that_are_no_pictures_are_not_suggested(model, support, query):
    (query / "broken.png").write_bytes(b"\x89PNG")
    with pytest.warns(LeftOutWarning, match=r"1 of 13 files .*broken\.png"):
        suggestions = suggest_pictures(model, support, query, 6)
    assert "broken.png" not in {each.file for each in suggestions}


def test_mistakes_get_a_sentence(model, support, query):
    with pytest.raises(ValueError, match="count is 0"):
        suggest_pictures(model, support, query, 0)
    with pytest.raises(ValueError, match="no acquisition 'gut feeling'"):
        suggest_pictures(model, support, query, 1, "gut feeling")
    with pytest.raises(BmamlError, match="give --support"):
        suggest_pictures(model, None, query)


def test_reasons_are_short_and_on_one_line():
    many = tuple(f"class {i}" for i in range(20))
    assert describe(many, np.full(20, 0.05)).count("%") == 3
    assert "\n" not in describe(("a\nb", "c"), np.array([0.5, 0.5]))
    assert describe(("a", "b", "c"), np.array([0.03, 0.93, 0.04])) == "probably 'b' (93 %)"
    everything = describe(("a", "b", "c"), np.array([0.22, 0.55, 0.23]))
    assert everything == "could be 'b' (55 %), 'c' (23 %) or 'a' (22 %)"
