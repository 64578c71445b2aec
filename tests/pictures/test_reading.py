from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from bmaml.pictures.reading import FILES_IN_A_JOB, read_batches, read_pictures
from bmaml.tasks.images.image_file import ImageForm, UnreadableImageError

NUMBER = 5000


@dataclass(frozen=True)
class Counting(ImageForm):
    """Pictures without files: every seventh is broken, and the name of the others is in a pixel."""

    read_so_far: list[Path] = field(default_factory=list)

    def read(self, path: Path) -> np.ndarray:
        self.read_so_far.append(path)
        if int(path.stem) % 7 == 0:
            raise UnreadableImageError(path, "the seventh")
        return np.full(self.shape, int(path.stem) % 251, np.uint8)


def test_pictures_come_in_order_and_few_wait_in_memory():
    form, skipped = Counting(2, "grey"), []
    files = [Path(f"{number}.png") for number in range(NUMBER)]
    batches = read_batches(files, form, 100, skipped)
    names, pixels = next(batches)
    assert pixels.shape == (100, 2, 2, 1)
    # Three jobs for each of at most eight threads, and what was taken of them.
    assert len(form.read_so_far) <= 120 + (3 * 8 + 1) * FILES_IN_A_JOB
    for more_names, more_pixels in batches:
        names, pixels = names + more_names, np.concatenate([pixels, more_pixels])
    assert names == [path for path in files if int(path.stem) % 7]
    np.testing.assert_array_equal(pixels[:, 0, 0, 0], [int(path.stem) % 251 for path in names])
    assert [each.file for each in skipped] == [str(path) for path in files[::7]]
    assert {each.reason for each in skipped} == {"the seventh"}


def test_none_are_none():
    assert list(read_pictures([], Counting(2, "grey"), [])) == []
