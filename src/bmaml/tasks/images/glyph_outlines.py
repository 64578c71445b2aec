"""Outlines of characters from the typefaces that come with Matplotlib, and their drawing."""

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

SIZE = 28
# The longer side of an undistorted glyph; the rest is room to turn and shift.
BOX = 20.0
# The fonts' own unit is of no consequence, since glyphs are scaled to the box.
OUTLINE_POINTS = 64
# Reference typefaces first. TeX's fonts put other characters in the places of all but letters and
# digits; Matplotlib's other fonts hold oversized symbols or characters without a name.
TYPEFACES = (
    "DejaVuSans",
    "DejaVuSerif",
    "DejaVuSansMono",
    "STIXGeneral",
    "DejaVuSans-Bold",
    "DejaVuSerif-Bold",
    "DejaVuSansMono-Bold",
    "STIXGeneralBol",
    "DejaVuSans-Oblique",
    "DejaVuSerif-Italic",
    "DejaVuSansMono-Oblique",
    "STIXGeneralItalic",
    "DejaVuSans-BoldOblique",
    "DejaVuSerif-BoldItalic",
    "DejaVuSansMono-BoldOblique",
    "STIXGeneralBolIta",
    "cmr10",
    "cmss10",
    "cmtt10",
    "cmti10",
    "cmb10",
)
CLOSE = 79


class Distortion(NamedTuple):
    """How an instance differs from the outline; lengths in pixels, the angle in radians."""

    scale: float = 1.0
    stretch: float = 1.0
    shear: float = 0.0
    angle: float = 0.0
    shift: tuple[float, float] = (0.0, 0.0)
    stroke: float = 0.0


class Outline(NamedTuple):
    """A path of Matplotlib's, the middle of its box, and the scale that fits it to `BOX`."""

    path: Any
    middle: np.ndarray
    scale: float


def font_files() -> list[Path]:
    """The files of the typefaces, which some Matplotlib of a distribution may lack."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    files = [folder / f"{name}.ttf" for name in TYPEFACES]
    return [file for file in files if file.is_file()]


class Typefaces:
    """All typefaces: which characters they have, and the outlines of these."""

    def __init__(self, files: Sequence[Path]):
        from matplotlib.ft2font import FT2Font

        self._fonts = []
        for file in files:
            font = FT2Font(str(file))
            font.set_size(OUTLINE_POINTS, 72)
            characters = {chr(code) for code in font.get_charmap()}
            if file.stem.startswith("cm"):
                characters = {each for each in characters if each.isascii() and each.isalnum()}
            self._fonts.append((font, characters))

    def characters(self) -> set[str]:
        """Those that any typeface has."""
        return set().union(*(characters for _, characters in self._fonts))

    def outlines(self, character: str) -> Iterator[Outline]:
        """A character in every typeface that has it and does not leave it blank."""
        for font, characters in self._fonts:
            if character in characters and (outline := _outline(font, character)) is not None:
                yield outline


def _outline(font: Any, character: str) -> Outline | None:
    from matplotlib.ft2font import LoadFlags
    from matplotlib.path import Path as Curve

    font.load_char(ord(character), flags=LoadFlags.NO_HINTING)
    vertices, codes = font.get_path()
    # A closing instruction has no place of its own; what stands there is zero.
    real = vertices[codes != CLOSE]
    if len(real) == 0 or np.ptp(real, axis=0).max() <= 0:
        return None
    low, high = real.min(axis=0), real.max(axis=0)
    return Outline(Curve(vertices, codes), (low + high) / 2, BOX / float((high - low).max()))


def draw(outline: Outline, distortion: Distortion = Distortion()) -> np.ndarray:  # noqa: B008
    """A glyph as SIZE × SIZE uint8, ink = 255; `stroke` pixels thicker, or thinner if negative."""
    from matplotlib.transforms import Affine2D

    renderer, context = _canvas()
    renderer.clear()
    size = outline.scale * distortion.scale
    placed = (
        Affine2D()
        .translate(*(-outline.middle))
        .scale(size * distortion.stretch, size / distortion.stretch)
        .skew(distortion.shear, 0.0)
        .rotate(distortion.angle)
        .translate(SIZE / 2 + distortion.shift[0], SIZE / 2 + distortion.shift[1])
    )
    # A black line thickens the black shape, a white one eats into it.
    context.set_foreground(
        (0.0, 0.0, 0.0, 1.0) if distortion.stroke > 0 else (1.0, 1.0, 1.0, 1.0), True
    )
    context.set_linewidth(abs(distortion.stroke))
    renderer.draw_path(context, outline.path, placed, (0.0, 0.0, 0.0, 1.0))
    image = np.asarray(renderer.buffer_rgba()).astype(np.float32)
    return np.rint(image[..., 3] * (1.0 - image[..., 0] / 255.0)).astype(np.uint8)


@cache
def _canvas() -> tuple[Any, Any]:
    from matplotlib.backends.backend_agg import RendererAgg

    renderer = RendererAgg(SIZE, SIZE, 72)
    context = renderer.new_gc()
    # Against what a user's own settings of Matplotlib may ask for.
    context.set_snap(False)
    context.set_sketch_params(None)
    context.set_joinstyle("round")
    return renderer, context
