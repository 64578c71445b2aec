import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from bmaml.errors import BmamlError
from bmaml.tasks.images.pickles import read_pickle

CONTENT = {
    "image_data": np.random.default_rng(0).integers(0, 256, (6, 4, 4, 3), np.uint8),
    "class_dict": {"n01": [0, 1, 2], "n02": [np.int64(3), 4, 5]},
    "order": np.asfortranarray(np.arange(6, dtype=">f4").reshape(2, 3)),
}


class Touch:
    """A pickle of this makes a file when it is loaded."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


def equal(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("core", [b"numpy.core", b"numpy._core"])
def test_arrays_come_out_as_they_went_in(tmp_path, protocol, core):
    path = tmp_path / "a.pkl"
    written = pickle.dumps(CONTENT, protocol)
    if protocol < 4:  # Names in later protocols carry their length.
        written = written.replace(b"numpy._core", core)
    path.write_bytes(written)
    content = read_pickle(path)
    assert equal(content["image_data"], CONTENT["image_data"])
    assert equal(content["order"], CONTENT["order"])
    assert content["class_dict"] == CONTENT["class_dict"]


def test_what_python_2_wrote_can_be_read(tmp_path):
    # Python 2 wrote bytes as a string, which is what opcode T (BINSTRING) has here.
    raw = bytes(range(200, 212))
    kind = b"cnumpy\ndtype\n(U\x02u1I0\nI1\ntR(I3\nU\x01|NNNI-1\nI-1\nI0\ntb"
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntU\x01btR"
    array = made + b"(I1\n(I3\nI4\nt" + kind + b"I00\nT\x0c\x00\x00\x00" + raw + b"tb"
    path = tmp_path / "a.pkl"
    path.write_bytes(b"\x80\x02}U\x04data" + array + b"s.")
    expected = np.frombuffer(raw, np.uint8).reshape(3, 4)
    assert equal(read_pickle(path)["data"], expected)


def test_a_pickle_with_code_is_refused_before_it_runs(tmp_path):
    mark, path = tmp_path / "ran", tmp_path / "evil.pkl"
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        path.write_bytes(pickle.dumps({"image_data": Touch(mark)}, protocol))
        with pytest.raises(BmamlError, match=r"evil\.pkl is not a pickle.*asks for .*system"):
            read_pickle(path)
    assert not mark.exists()
    pickle.loads(path.read_bytes())
    assert mark.exists()  # It would have run.


@pytest.mark.parametrize(
    "code",
    [
        b"cbuiltins\neval\n(U\x031+1tR.",
        b"cnumpy\nload\n(U\x01atR.",
        b"cnumpy.core.multiarray\n_reconstruct\n}U\x01aI1\nsb.",  # Alters a function.
        b"cnumpy\nndarray\n}U\x01aI1\nsb.",  # Alters a class.
        b"c_codecs\nencode\n(U\x01aU\x05rot13tR.",
        b"\x80\x04\x8c\x05numpy\x8c\x10ndarray.__init__\x93.",
    ],
)
def test_other_ways_to_run_or_alter_something_are_refused(tmp_path, code):
    path = tmp_path / "evil.pkl"
    path.write_bytes(code)
    with pytest.raises(BmamlError, match="is not a pickle of plain arrays"):
        read_pickle(path)


@pytest.mark.parametrize(
    "harmful",
    [
        np.array([{}, []], dtype=object),
        np.zeros(2, [("a", "i4"), ("b", "O")]),
        Path("a"),
    ],
)
def test_only_plain_values_are_admitted(tmp_path, harmful):
    path = tmp_path / "a.pkl"
    path.write_bytes(pickle.dumps({"image_data": harmful}))
    with pytest.raises(BmamlError, match="is not a pickle of plain arrays"):
        read_pickle(path)


def test_a_damaged_or_missing_pickle_is_one_sentence(tmp_path):
    path = tmp_path / "a.pkl"
    whole = pickle.dumps(CONTENT)
    for part in (b"", whole[: len(whole) // 2], b"<html>not found</html>"):
        path.write_bytes(part)
        with pytest.raises(BmamlError, match=r"a\.pkl is not a pickle of plain arrays"):
            read_pickle(path)
    with pytest.raises(BmamlError, match="cannot be read"):
        read_pickle(tmp_path / "missing.pkl")
