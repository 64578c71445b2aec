import json
import os
import resource
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.tasks.images.cache import cache_folder, cached_images, fingerprint_files
from bmaml.tasks.images.decode import decode_classes
from bmaml.tasks.images.image_file import read_image
from tests.tasks.images.made_up import paint


class Images:
    """Two classes of random images, which count how often they were made."""

    def __init__(self, size=4):
        random = np.random.default_rng(0)
        self.blocks = [
            ("a", random.integers(0, 256, (3, size, size, 1), np.uint8)),
            ("a", random.integers(0, 256, (2, size, size, 1), np.uint8)),
            ("b", random.integers(0, 256, (4, size, size, 1), np.uint8)),
        ]
        self.made = 0

    def __call__(self):
        self.made += 1
        yield from self.blocks


def files(cache, suffix):
    return sorted((cache / "images").glob(f"*{suffix}"))


def test_images_are_made_once_and_then_mapped(cache):
    images = Images()
    for _ in range(2):
        table = cached_images("test", [1], "state", images)
        np.testing.assert_array_equal(table.pixels, np.concatenate([b for _, b in images.blocks]))
        assert table.names == ("a", "b")
        assert table.counts.tolist() == [5, 4]
        assert isinstance(table.pixels, np.memmap)
    assert images.made == 1
    assert not files(cache, ".partial")


def test_other_settings_are_another_entry_and_a_changed_source_replaces_one(cache):
    images = Images()
    cached_images("test", [1], "state", images)
    cached_images("test", [2], "state", images)
    assert len(files(cache, ".npy")) == 2
    cached_images("test", [2], "new state", images)
    assert images.made == 3
    assert len(files(cache, ".npy")) == 2


def truncate(path):
    os.truncate(path, path.stat().st_size - 5)


def change_a_pixel(path):
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))


def change_the_header(path):
    content = bytearray(path.read_bytes())
    content[content.index(b"(")] = ord("[")  # which Python's tokenizer stumbles over
    path.write_bytes(bytes(content))


def put_code(path):
    np.save(path, np.array([{"an": "object"}], dtype=object), allow_pickle=True)


@pytest.mark.parametrize("harm", [truncate, change_a_pixel, change_the_header, put_code, os.unlink])
@pytest.mark.parametrize("suffix", [".npy", ".json"])
def test_a_damaged_entry_is_made_again(cache, harm, suffix):
    images = Images()
    cached_images("test", [1], "state", images)
    if suffix == ".json" and harm is put_code:
        files(cache, suffix)[0].write_text(json.dumps({"format": 1, "fingerprint": "state"}))
    elif suffix == ".json" and harm in (change_a_pixel, change_the_header):
        files(cache, suffix)[0].write_text("[]")
    else:
        harm(files(cache, suffix)[0])
    table = cached_images("test", [1], "state", images)
    assert images.made == 2
    np.testing.assert_array_equal(table.pixels[-4:], images.blocks[-1][1])


@pytest.mark.parametrize(
    ("name", "value"), [("counts", [4, 2]), ("counts", [10**30, 3]), ("names", ["b", "a"])]
)
def test_images_never_change_their_class_by_damage(cache, name, value):
    images = Images()
    table = cached_images("test", [1], "state", images)
    path = files(cache, ".json")[0]
    about = json.loads(path.read_text())
    assert about[name] != value
    path.write_text(json.dumps({**about, name: value}))
    again = cached_images("test", [1], "state", images)
    assert images.made == 2
    assert (again.names, again.counts.tolist()) == (table.names, table.counts.tolist())


KILLED = """
import os, numpy as np
from bmaml.tasks.images.cache import cached_images
def make():
    yield "a", np.ones((1000, 10, 10, 1), np.uint8)
    os.kill(os.getpid(), 9)
cached_images("test", [1], "state", make)
"""


def test_a_kill_leaves_nothing_that_is_taken_for_complete(cache):
    subprocess.run([sys.executable, "-c", KILLED], check=False, timeout=120)
    (left,) = files(cache, ".partial")
    images = Images()
    cached_images("test", [1], "state", images)
    assert images.made == 1
    assert left.exists()  # It may still be growing, for all that is known.
    os.utime(left, (time.time() - 3600,) * 2)
    cached_images("test", [2], "state", images)
    assert not left.exists()


def test_an_error_while_decoding_leaves_nothing_behind(cache):
    def make():
        yield "a", np.ones((2, 2, 2, 1), np.uint8)
        raise BmamlError("broken.png is not an image.")

    with pytest.raises(BmamlError, match="broken"):
        cached_images("test", [1], "state", make)
    assert not list((cache / "images").iterdir())


@contextmanager
def full_disk(free):
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)


def test_a_full_disk_is_one_sentence(cache):
    with full_disk(100_000), pytest.raises(BmamlError, match=r"the disk is full.*BMAML_CACHE"):
        cached_images("test", [1], "state", Images(size=200))
    assert not list((cache / "images").iterdir())


def test_a_cache_that_cannot_be_a_folder_is_one_sentence(cache):
    cache.write_text("a file")
    with pytest.raises(BmamlError, match=r"Cannot keep decoded images in .*BMAML_CACHE") as caught:
        cached_images("test", [1], "state", Images())
    assert "make room" not in str(caught.value)


def test_the_cache_is_where_the_platform_keeps_caches(monkeypatch, tmp_path):
    assert cache_folder() == tmp_path / "cache"
    monkeypatch.delenv("BMAML_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setattr(sys, "platform", "linux")
    assert cache_folder() == tmp_path / "xdg" / "bmaml"


def test_a_fingerprint_changes_with_a_file(tmp_path):
    path = paint(tmp_path / "a.png")
    before = fingerprint_files([path])
    assert fingerprint_files([path]) == before
    os.utime(path, (1, 1))
    assert fingerprint_files([path]) != before
    with pytest.raises(BmamlError, match=r"missing\.png cannot be read"):
        fingerprint_files([tmp_path / "missing.png"])


def test_files_are_decoded_in_order_whatever_thread_does_it(tmp_path):
    paths = {
        label: [paint(tmp_path / label / f"{i}.png", seed=i + 500 * (label == "b")) for i in range(n)]
        for label, n in (("a", 230), ("b", 3))
    }
    blocks = list(decode_classes("test", paths, lambda path: read_image(path, 12, "colour")))
    assert [label for label, _ in blocks] == ["a", "a", "a", "b"]
    pixels = np.concatenate([block for _, block in blocks])
    for i in (0, 99, 100, 229):
        expected = np.random.default_rng(i).integers(0, 256, (12, 12, 3), np.uint8)
        np.testing.assert_array_equal(pixels[i], expected)


def test_files_that_are_no_images_are_named(tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(paint(tmp_path / "a.png", size=50).read_bytes()[:600])
    text = tmp_path / "text.jpg"
    text.write_text("no image")
    for path in (broken, text):
        with pytest.raises(BmamlError, match=rf"{path.name} is not an image that can be read"):
            read_image(path, 28, "grey")
    with pytest.raises(BmamlError, match=r"gone\.png is missing"):
        read_image(tmp_path / "gone.png", 28, "grey")
