"""Image files of every kind become arrays of one kind, or are refused with a reason."""

import io
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from bmaml.tasks.images.image_file import ImageForm, UnreadableImageError, quiet_pillow, read_image
from tests.tasks.images.made_up import paint

# A gradient: bright at the top, and everywhere redder than blue.
TOP, BOTTOM = (240, 200, 120), (80, 40, 10)


def gradient(width=30, height=20) -> Image.Image:
    share = np.linspace(0.0, 1.0, height)[:, None, None]
    pixels = np.broadcast_to((1 - share) * TOP + share * BOTTOM, (height, width, 3))
    return Image.fromarray(pixels.astype(np.uint8))


def grey_16(scale) -> Image.Image:
    return Image.fromarray(np.asarray(gradient().convert("L")).astype(np.uint16) * scale)


KINDS = {
    "rgb.png": gradient(),
    "rgb.jpg": gradient(),
    "rgb.bmp": gradient(),
    "rgb.tif": gradient(),
    "rgb.webp": gradient(),
    "rgb.ppm": gradient(),
    "grey.jpg": gradient().convert("L"),
    "grey.pgm": gradient().convert("L"),
    "palette.png": gradient().convert("P", palette=Image.Palette.ADAPTIVE),
    "palette.gif": gradient().convert("P", palette=Image.Palette.ADAPTIVE),
    "opaque.png": gradient().convert("RGBA"),
    "grey and opaque.png": gradient().convert("LA"),
    "cmyk.jpg": gradient().convert("CMYK"),
    "cmyk.tif": gradient().convert("CMYK"),
    "ycbcr.jpg": gradient().convert("YCbCr"),
    "grey of 16 bits.png": grey_16(257),
    "grey of 16 bits.tif": grey_16(257),
    "large.png": gradient(300, 500),
    "tiny.png": gradient(3, 4),
    "named as another.png": gradient(),
}


@pytest.mark.parametrize("mode", ["grey", "colour"])
@pytest.mark.parametrize("name", KINDS)
def test_every_kind_of_image_is_read(tmp_path, name, mode):
    path = tmp_path / name
    KINDS[name].save(path, "JPEG" if name.startswith("named") else None)
    pixels = read_image(path, 12, mode)
    assert pixels.shape == (12, 12, 1 if mode == "grey" else 3)
    assert pixels.dtype == np.uint8
    rows = pixels.astype(float).mean(axis=(1, 2))
    expected = np.asarray(gradient(12, 12).convert("L"), float).mean(axis=1)
    np.testing.assert_allclose(rows, expected, atol=60 if "tiny" in name else 30)
    if mode == "colour" and "grey" not in name:
        assert np.all(pixels[..., 0].astype(int) > pixels[..., 2])


def test_16_bits_keep_their_shades(tmp_path):
    grey_16(257).save(tmp_path / "deep.png")
    gradient().convert("L").save(tmp_path / "flat.png")
    Image.fromarray(np.asarray(grey_16(257), np.int32)).save(tmp_path / "deep.pgm")
    expected = read_image(tmp_path / "flat.png", 12, "grey")
    for name in ("deep.png", "deep.pgm"):
        np.testing.assert_array_equal(read_image(tmp_path / name, 12, "grey"), expected)


def test_of_an_animation_the_first_picture_counts(tmp_path):
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "lime", "blue")]
    for name in ("moving.gif", "moving.png", "moving.webp", "pages.tif"):
        frames[0].save(tmp_path / name, save_all=True, append_images=frames[1:])
        assert np.all(read_image(tmp_path / name, 4, "colour")[..., 0] > 200)
        assert np.all(read_image(tmp_path / name, 4, "colour")[..., 1:] < 50)


def test_transparency_is_white_and_ink_can_be_one(tmp_path):
    Image.new("RGBA", (9, 9), (0, 0, 0, 0)).save(tmp_path / "glass.png")
    Image.new("P", (9, 9), 0).save(tmp_path / "glass.gif", transparency=0)
    for name in ("glass.png", "glass.gif"):
        assert np.all(ImageForm(4, "grey").read(tmp_path / name) == 255)
        assert np.all(ImageForm(4, "grey", inverted=True).read(tmp_path / name) == 0)


def reason_of(path) -> str:
    with pytest.raises(UnreadableImageError) as refused:
        read_image(path, 12, "colour")
    assert str(path) not in refused.value.reason
    assert "\n" not in refused.value.reason
    return refused.value.reason


def test_what_is_no_image_is_refused_with_a_reason(tmp_path):
    (tmp_path / "empty.png").touch()
    assert reason_of(tmp_path / "empty.png") == "an empty file"
    (tmp_path / "text.png").write_text("a text file")
    assert reason_of(tmp_path / "text.png") == "in no format that is known"
    (tmp_path / "folder.png").mkdir()
    assert reason_of(tmp_path / "folder.png") == "not a file"
    (tmp_path / "link.png").symlink_to(tmp_path / "nowhere.png")
    assert reason_of(tmp_path / "link.png") == "a link that points nowhere"
    assert reason_of(tmp_path / "gone.png") == "missing"
    for name in ("whole.jpg", "whole.png"):
        whole = paint(tmp_path / name, size=60).read_bytes()
        (tmp_path / f"cut {name}").write_bytes(whole[: len(whole) // 2])
        assert "truncated" in reason_of(tmp_path / f"cut {name}")
    Image.fromarray(np.ones((4, 4), np.float32)).save(tmp_path / "numbers.tif")
    assert "32 bits" in reason_of(tmp_path / "numbers.tif")


def test_a_program_that_draws_is_not_run(tmp_path):
    gradient().save(tmp_path / "drawing.eps")
    (tmp_path / "drawing.eps").rename(tmp_path / "drawing.png")
    assert reason_of(tmp_path / "drawing.png") == "in no format that is known"


@pytest.mark.parametrize("notes", [b"MM\0", b"nonsense", b"II*\0\xff\xff\xff\xff"])
def test_garbled_notes_of_a_camera_do_not_spoil_a_picture(tmp_path, notes):
    gradient().save(tmp_path / "plain.jpg")
    gradient().save(tmp_path / "garbled.jpg", exif=b"Exif\0\0" + notes)
    with quiet_pillow():
        garbled = read_image(tmp_path / "garbled.jpg", 12, "colour")
    np.testing.assert_array_equal(garbled, read_image(tmp_path / "plain.jpg", 12, "colour"))


@given(
    name=st.sampled_from(["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"]),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6),
    share=st.floats(0.0, 1.0),
)
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_damaged_file_is_an_image_or_refused(tmp_path, name, damage, share):
    file = io.BytesIO()
    gradient().save(file, name)
    content = bytearray(file.getvalue())
    for place, value in damage:
        content[int(place * len(content))] = value
    path = tmp_path / "damaged.png"
    path.write_bytes(content[: round(share * len(content))])
    with quiet_pillow(), suppress(UnreadableImageError):
        assert read_image(path, 6, "colour").shape == (6, 6, 3)
