"""Which characters are classes, and which scripts are kept for validation and testing."""

import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np

from bmaml.tasks.images.episodes import Part
from bmaml.tasks.images.glyph_outlines import SIZE, Typefaces, draw

# Letters go by the first word of their Unicode name. Earlier scripts keep a shape that several have.
ALPHABETS: dict[Part, tuple[str, ...]] = {
    "train": ("latin", "greek", "cyrillic", "canadian", "lisu", "coptic"),
    "validation": ("armenian", "hebrew", "nko", "ogham"),
    "test": ("georgian", "arabic", "tifinagh", "lao", "old"),
}
# Symbols go by where Unicode has them. Neither lines to draw boxes with, nor dots that are told
# apart by their place alone (Braille, dominoes), nor pictures too fine for 28 pixels.
SYMBOLS = {
    "signs": ((0x21, 0xBF), (0x2010, 0x205E), (0x20A0, 0x20BF)),
    "letterlike": ((0x2100, 0x214F),),
    "arrows": ((0x2190, 0x21FF), (0x27F0, 0x27FF), (0x2900, 0x297F), (0x2B00, 0x2B4F)),
    "operators": ((0x2200, 0x22FF), (0x27C0, 0x27EF), (0x2980, 0x2AFF)),
    "technical": ((0x2300, 0x23FF),),
    "shapes": ((0x25A0, 0x25FF),),
    "pictures": ((0x2600, 0x26FF),),
    "dingbats": ((0x2700, 0x27BF),),
}
STYLES = {"fraktur": "MATHEMATICAL FRAKTUR ", "script": "MATHEMATICAL SCRIPT "}
# Cosine of two slightly blurred reference images from which on they count as the same shape: the
# closest pairs below it are different to the eye, many above it are not.
SAME = 0.9
BLANK = 0.01


def glyph_classes(typefaces: Typefaces) -> list[tuple[Part, str, str]]:
    """Part, script and character of every class: distinct shapes, training scripts first."""
    candidates, images = [], []
    characters = typefaces.characters()
    for part, script, character in _candidates(sorted(characters)):
        outline = next(typefaces.outlines(character), None)
        if outline is not None and (image := draw(outline)).mean() > BLANK * 255:
            candidates.append((part, script, character))
            images.append(image)
    return [candidates[i] for i in distinct_shapes(np.stack(images))]


def script_of(character: str) -> str | None:
    """The script, or for symbols the kind, of a character; None if it is to be left out."""
    name = unicodedata.name(character, "").replace("-", " ")
    for style, prefix in STYLES.items():
        if name.startswith(prefix):
            return style
    # A letter in another type is no other letter.
    if unicodedata.decomposition(character).startswith("<font>"):
        return None
    category = unicodedata.category(character)
    # Marks, modifiers, spaces and controls are no shapes of their own.
    if not name or category[0] in "MZC" or category in ("Lm", "Sk"):
        return None
    word = name.split()[0].lower()
    if category[0] == "L" and any(word in words for words in ALPHABETS.values()):
        return word
    for symbols, ranges in SYMBOLS.items():
        if any(low <= ord(character) <= high for low, high in ranges):
            return symbols
    return None


def _candidates(characters: Sequence[str]) -> Iterator[tuple[Part, str, str]]:
    scripts: dict[str, list[str]] = {}
    for character in characters:
        if (script := script_of(character)) is not None:
            scripts.setdefault(script, []).append(character)
    order: dict[Part, tuple[str, ...]] = {
        **ALPHABETS,
        "train": (*ALPHABETS["train"], *STYLES, *SYMBOLS),
    }
    for part, names in order.items():
        for script in names:
            for character in scripts.get(script, []):
                yield part, script, character


def distinct_shapes(images: np.ndarray) -> list[int]:
    """The images that resemble no earlier one that is kept."""
    flat = _blurred(images).reshape(len(images), -1)
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    alike = flat @ flat.T > SAME
    kept = np.zeros(len(images), bool)
    for i in range(len(images)):
        kept[i] = not np.any(alike[i] & kept)
    return np.flatnonzero(kept).tolist()


def _blurred(images: np.ndarray) -> np.ndarray:
    """At half the resolution, smoothed with the weights 1, 2, 1 first."""
    padded = np.pad(images.astype(np.float32), ((0, 0), (1, 1), (1, 1)))
    rows = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    smooth = rows[:, :, :-2] + 2 * rows[:, :, 1:-1] + rows[:, :, 2:]
    return smooth.reshape(len(images), SIZE // 2, 2, SIZE // 2, 2).mean(axis=(2, 4))
