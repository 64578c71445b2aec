import numpy as np
import pytest

from bmaml.tasks.images import Glyphs
from bmaml.tasks.images.glyph_classes import distinct_shapes, script_of
from bmaml.tasks.images.glyph_outlines import Distortion, Typefaces, draw, font_files

PARTS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def typefaces():
    return Typefaces(font_files())


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BMAML_CACHE", str(tmp_path_factory.mktemp("glyphs")))
        return {part: Glyphs(instances=3).read(part) for part in PARTS}


def reference(typefaces, character, **distortion):
    return draw(next(typefaces.outlines(character)), Distortion(**distortion))


def test_there_are_many_classes_of_scripts_apart(tables):
    scripts = {part: {name.split("/")[1] for name in tables[part].names} for part in PARTS}
    assert scripts["validation"] == {"armenian", "hebrew", "nko", "ogham"}
    assert scripts["test"] == {"arabic", "georgian", "lao", "tifinagh", "old"}
    assert not scripts["train"] & (scripts["validation"] | scripts["test"])
    sizes = [len(tables[part].names) for part in PARTS]
    assert all(size >= least for size, least in zip(sizes, (1500, 75, 240), strict=True))


def test_images_are_ink_on_paper_and_differ_within_a_class(tables):
    for part in PARTS:
        pixels = tables[part].pixels
        assert pixels.shape == (3 * len(tables[part].names), 28, 28, 1)
        assert 0.05 < pixels.mean() / 255 < 0.35
        assert np.all(pixels.max(axis=(1, 2, 3)) > 60)
    images = tables["test"].pixels.reshape(-1, 3, 28 * 28)
    assert np.all(np.any(images[:, 0] != images[:, 1], axis=1))


def test_a_shape_is_a_class_only_once(tables):
    characters = [name.split("/", 2)[2] for part in PARTS for name in tables[part].names]
    assert len(set(characters)) == len(characters)
    assert "A" in characters
    assert not {"Α", "А"} & set(characters)  # Alpha, and Cyrillic A


def test_drawing_follows_from_the_seed(tables):
    first, other = (next(iter(Glyphs(instances=3, seed=seed)._draw_all())) for seed in (0, 1))
    assert first[0] == other[0] == tables["train"].names[0]
    np.testing.assert_array_equal(first[1], tables["train"].pixels[:3])
    assert not np.array_equal(first[1], other[1])


def test_distortions_do_what_they_say(typefaces):
    plain = reference(typefaces, "E").astype(float)
    assert plain.shape == (28, 28)
    thick, thin = (reference(typefaces, "E", stroke=width).astype(float) for width in (1.0, -0.5))
    assert thick.sum() > 1.2 * plain.sum()
    assert thin.sum() < 0.9 * plain.sum()
    right = reference(typefaces, "E", shift=(3.0, 0.0)).astype(float)
    np.testing.assert_allclose(right[:, 3:], plain[:, :-3], atol=2)
    turned = reference(typefaces, "E", angle=np.pi / 2).astype(float)
    np.testing.assert_allclose(turned, np.rot90(plain), atol=2)
    # Upright, with the open side of an E to the right.
    assert plain[:, :14].sum() > plain[:, 14:].sum()


def test_marks_spaces_and_letters_in_another_type_are_no_classes():
    assert script_of("a") == "latin"
    assert script_of("ა") == "georgian"
    assert script_of("→") == "arrows"
    assert script_of("\N{MATHEMATICAL FRAKTUR CAPITAL A}") == "fraktur"
    for character in (
        " ",
        "\n",
        "\N{COMBINING ACUTE ACCENT}",
        "\N{MODIFIER LETTER SMALL H}",
        "\N{MATHEMATICAL BOLD CAPITAL A}",
        "\N{DOUBLE-STRUCK CAPITAL R}",
        "\N{BRAILLE PATTERN DOTS-1}",
        "\ue000",
    ):
        assert script_of(character) is None


def test_the_first_of_several_like_shapes_is_kept(typefaces):
    images = np.stack([reference(typefaces, each) for each in "AΑBАxX×Б"])
    assert distinct_shapes(images)[:2] == [0, 2]
    assert 3 not in distinct_shapes(images)


def test_settings_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="at least one image"):
        Glyphs(instances=0)
