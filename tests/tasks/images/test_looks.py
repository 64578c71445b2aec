import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from bmaml.tasks.images.looks import looks, ranges_of, together, unlike

pictures = arrays.arrays(
    np.uint8,
    st.tuples(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5), st.sampled_from([1, 3])),
)


@given(pictures)
def test_looks_are_shares_and_pictures_are_like_themselves(pixels):
    found = looks(pixels)
    assert all(values.shape == (len(pixels),) for values in found.values())
    assert all(np.all((values >= 0) & (values <= 1)) for values in found.values())
    ranges = ranges_of(pixels)
    assert unlike(ranges, found) is None
    halves = together([looks(pixels[:1]), looks(pixels[1:])]) if len(pixels) > 1 else found
    for name, values in found.items():
        np.testing.assert_allclose(halves[name], values, atol=1e-6)


def test_looks_of_known_pictures():
    black, white = np.zeros((1, 4, 4, 3), np.uint8), np.full((1, 4, 4, 3), 255, np.uint8)
    red = white * np.array([1, 0, 0], np.uint8)
    board = 255 * (np.indices((4, 4)).sum(0) % 2).astype(np.uint8)[None, :, :, None]
    found = {
        name: looks(value) for name, value in {"b": black, "w": white, "r": red, "c": board}.items()
    }
    assert found["b"]["brightness"] == 0
    assert found["w"]["brightness"] == 1
    assert found["b"]["colour"] == found["w"]["colour"] == 0
    assert found["r"]["colour"] == 1
    assert found["c"]["detail"] == 1
    assert found["w"]["detail"] == 0
    assert found["c"]["contrast"] == pytest.approx(0.5)
    assert found["w"]["contrast"] == 0


def test_what_differs_is_counted_and_named():
    random = np.random.default_rng(0)
    dark = random.integers(0, 60, (300, 8, 8, 1)).astype(np.uint8)
    told = unlike(ranges_of(dark), looks(np.concatenate([255 - dark[:3], dark[3:]])))
    assert told is not None
    assert "brightness: 3 pictures far outside" in told
    assert "contrast" not in told


def test_a_large_set_is_sampled_from_end_to_end():
    pixels = np.zeros((10_000, 2, 2, 1), np.uint8)
    pixels[-1] = 255
    assert ranges_of(pixels)["brightness"] == [0.0, 1.0]
