"""Characters of many scripts, drawn from the typefaces that come with Matplotlib: no download."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bmaml.tasks.images.cache import Block, ImageTable, cached_images, fingerprint_files
from bmaml.tasks.images.decode import show_progress
from bmaml.tasks.images.episodes import ImageEpisodes, Part
from bmaml.tasks.images.glyph_classes import glyph_classes
from bmaml.tasks.images.glyph_outlines import SIZE, Distortion, Typefaces, draw, font_files
from bmaml.tasks.images.image_file import ImageForm

# To be raised by whoever changes what is drawn, so that nobody keeps the images of before.
VERSION = 1


@dataclass(frozen=True)
class Glyphs(ImageEpisodes):
    """Few-shot classification of printed characters, 28 × 28 grey, ink = 1, paper = 0.

    A class is a character. Its `instances` images are in random typefaces out of up to 21 that have
    it, and each is turned, sheared, stretched, shifted and made thicker or thinner at random; `seed`
    decides how. Scripts are split, so that a test class is from a script that training never saw, and
    a shape that several scripts share, such as A, is a class only once. With Matplotlib 3.11 there are

    - 1753 training classes: Latin 346, Canadian syllabics 262, Cyrillic 87, Greek 81, script letters
      38, Fraktur 32, Lisu 4, Coptic 4, and symbols: operators 363, arrows 150, pictures 112, signs 89,
      technical 89, dingbats 46, geometric shapes 28, letterlike 22;
    - 84 validation classes: Armenian 39, Hebrew 23, N'Ko 14, Ogham 8;
    - 265 test classes: Arabic 145, Georgian 63, Lao 28, Tifinagh 18, Old Italic 11.

    They are drawn at the first use, in seconds, and kept in the cache.
    """

    instances: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.instances < 1:
            raise ValueError(f"instances is {self.instances}; a class has at least one image.")

    @property
    def form(self) -> ImageForm:
        """Grey, and ink is 1."""
        return ImageForm(SIZE, "grey", inverted=True)

    def read(self, part: Part) -> ImageTable:
        """The glyphs of one part; all parts are drawn together."""
        files = font_files()
        settings = [self.instances, self.seed]
        fingerprint = fingerprint_files(files, VERSION)
        table = cached_images("glyphs", settings, fingerprint, self._draw_all)
        of_part = np.array([name.startswith(f"{part}/") for name in table.names])
        # Parts follow each other, so that this is one piece of the file.
        before = int(table.counts[: np.argmax(of_part)].sum())
        counts = table.counts[of_part]
        names = tuple(name for name, chosen in zip(table.names, of_part, strict=True) if chosen)
        return ImageTable(table.pixels[before : before + int(counts.sum())], names, counts)

    def _draw_all(self) -> Iterator[Block]:
        typefaces = Typefaces(font_files())
        classes = glyph_classes(typefaces)
        with show_progress("Preparing glyphs", self.instances * len(classes)) as advance:
            for part, script, character in classes:
                random = np.random.default_rng([self.seed, ord(character)])
                outlines = list(typefaces.outlines(character))
                images = [
                    draw(outlines[random.integers(len(outlines))], draw_distortion(random))
                    for _ in range(self.instances)
                ]
                yield f"{part}/{script}/{character}", np.stack(images)[..., None]
                advance(self.instances)


def draw_distortion(random: np.random.Generator) -> Distortion:
    """A random one: as people's handwriting differs, and still the same character to a reader."""
    return Distortion(
        scale=random.uniform(0.8, 1.1),
        stretch=random.uniform(0.88, 1.14),
        shear=random.uniform(-0.25, 0.25),
        angle=random.uniform(-0.2, 0.2),
        shift=(random.uniform(-2.0, 2.0), random.uniform(-2.0, 2.0)),
        stroke=random.uniform(-0.5, 1.0),
    )
