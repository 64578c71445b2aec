"""One image file to an array, whatever its size, colours and format."""

import stat
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import UInt8

from bmaml.errors import BmamlError

if TYPE_CHECKING:
    from PIL import Image

Mode = Literal["grey", "colour"]
# To be raised by whoever changes what becomes of a file, so that nobody keeps the images of before.
VERSION = 2
# Those that are nothing but pixels: some others are programs, which Pillow has an interpreter run.
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "AVIF", "JPEG2000")


class UnreadableImageError(BmamlError):
    """A file that is no image, or a damaged one; `reason` is a short phrase without the file's name."""

    def __init__(self, path: Path, reason: str):
        super().__init__(
            f"{path} is not an image that can be read ({reason}): fetch it again, or remove it."
        )
        self.path, self.reason = path, reason


class MissingImageError(UnreadableImageError):
    """A file that is not there."""

    def __init__(self, path: Path):
        super().__init__(path, "a link that points nowhere" if path.is_symlink() else "missing")
        self.args = (f"{path} is missing: check the data set, or fetch it again.",)


@dataclass(frozen=True)
class ImageForm:
    """What all images of a source look like: `size` × `size` pixels, grey or in colour.

    With `inverted` black is 1 and white is 0, as for ink on paper.
    """

    size: int
    mode: Mode
    inverted: bool = False

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of an image's array.

        >>> ImageForm(28, "grey").shape
        (28, 28, 1)
        """
        return self.size, self.size, 1 if self.mode == "grey" else 3

    def read(self, path: Path) -> UInt8[np.ndarray, "size size channels"]:
        """The image in a file, in this form."""
        pixels = read_image(path, self.size, self.mode)
        return 255 - pixels if self.inverted else pixels


def read_image(path: Path, size: int, mode: Mode) -> UInt8[np.ndarray, "size size channels"]:
    """An image as uint8, size × size × 1 or 3, resized with antialiasing; transparency is white.

    It is turned as its camera noted; 16 bits become 8; of an animation it is the first picture.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):  # To open a pipe, for one, would be to wait forever.
            raise UnreadableImageError(path, "not a file")
        if status.st_size == 0:
            raise UnreadableImageError(path, "an empty file")
        with Image.open(path, formats=_known_formats()) as opened:
            opened.load()
            image = _opaque(_eight_bits(_upright(opened), opened.format))
            image = image.convert("L" if mode == "grey" else "RGB")
            if image.size != (size, size):
                image = image.resize((size, size), Image.Resampling.LANCZOS)
            return np.asarray(image, np.uint8).reshape(size, size, -1)
    except UnreadableImageError:
        raise
    except FileNotFoundError as error:
        raise MissingImageError(path) from error
    except UnidentifiedImageError as error:
        raise UnreadableImageError(path, "in no format that is known") from error
    # Pillow's decoders raise errors of many kinds at files that are not what they should be.
    except Exception as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
        raise UnreadableImageError(path, reason) from error


@contextmanager
def quiet_pillow() -> Iterator[None]:
    """Keep what Pillow remarks about odd but readable files, without their names, from the user.

    Not in `read_image`: the filters of warnings are common to all threads, and must be set by one.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"PIL\.")
        yield


@cache
def _known_formats() -> tuple[str, ...]:
    """Those of `FORMATS` that the installed Pillow has."""
    from PIL import Image

    Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _upright(image: "Image.Image") -> "Image.Image":
    from PIL import ImageOps

    try:
        return ImageOps.exif_transpose(image)
    except Exception:  # What a camera noted may be garbled while the picture is sound.
        return image


def _eight_bits(image: "Image.Image", written_as: str | None) -> "Image.Image":
    """Grey of 16 bits as 8: Pillow would take all that is brighter than 1/256 for white."""
    from PIL import Image

    if image.mode.startswith("I;16") or (image.mode == "I" and written_as in ("PNG", "PPM")):
        return Image.fromarray((np.asarray(image).astype(np.int64) >> 8).astype(np.uint8))
    if image.mode in ("I", "F"):
        raise ValueError("pixels of 32 bits, and nothing says which is white")
    return image


def _opaque(image: "Image.Image") -> "Image.Image":
    from PIL import Image

    if not image.has_transparency_data:
        return image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
