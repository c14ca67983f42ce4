import gzip
import struct

import numpy as np
import pytest

from localelastic.data import Pixels, load_examples
from localelastic.data.idx import read_idx
from localelastic.errors import ReadError

CODES = {"u1": 8, "i1": 9, ">i2": 11, ">i4": 12, ">f4": 13, ">f8": 14}


def idx_bytes(array, dtype="u1"):
    axes = struct.pack(f">4B{array.ndim}I", 0, 0, CODES[dtype], array.ndim, *array.shape)
    return axes + array.astype(dtype).tobytes()


IMAGES = np.array([[[0, 255], [51, 0]], [[1, 2], [3, 4]]])
LABELS = np.array([7, 3])


@pytest.mark.parametrize("dtype", CODES)
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_every_type_plain_and_gzipped(tmp_path, dtype, ending):
    path = tmp_path / f"a-idx3-ubyte{ending}"
    content = idx_bytes(IMAGES - (dtype != "u1"), dtype)
    path.write_bytes(gzip.compress(content) if ending else content)
    array = read_idx(path)
    assert array.dtype == np.dtype(dtype)
    assert array.tolist() == (IMAGES - (dtype != "u1")).astype(dtype).tolist()


@pytest.mark.parametrize(
    ("images", "labels"),
    [
        ("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
        ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"),
        ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte"),
        ("images.idx3-ubyte", "labels.idx1-ubyte.gz"),
    ],
)
def test_labels_are_found_beside(tmp_path, images, labels):
    for name, array in ((images, IMAGES), (labels, LABELS)):
        content = idx_bytes(array)
        packed = gzip.compress(content) if name.endswith(".gz") else content
        (tmp_path / name).write_bytes(packed)
    examples = load_examples(tmp_path / images, pixels=Pixels.RAW)
    assert examples.inputs.tolist() == IMAGES[:, None].tolist()
    assert examples.classes == ("7", "3")
    assert examples.source == f"{images}, labels from {labels}; pixels scaled to [0, 255]"


def test_labels_given_or_none(tmp_path):
    path, labels = tmp_path / "a.idx", tmp_path / "b.idx"
    path.write_bytes(idx_bytes(IMAGES))
    labels.write_bytes(idx_bytes(LABELS))
    assert load_examples(path).classes is None
    assert load_examples(path, labels=labels).classes == ("7", "3")


def test_labels_given_go_before_broken_ones_beside(tmp_path):
    path, given = tmp_path / "images-idx3-ubyte", tmp_path / "mine.txt"
    path.write_bytes(idx_bytes(IMAGES))
    (tmp_path / "labels-idx1-ubyte").write_bytes(b"broken")
    given.write_text("cat\ndog\n")
    assert load_examples(path, labels=given).classes == ("cat", "dog")
    with pytest.raises(ReadError, match="labels-idx1-ubyte to start as an IDX"):
        load_examples(path)


WHOLE = idx_bytes(IMAGES)


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.idx", WHOLE[:-1], "expected 24 bytes .* got 23; the file is cut short"),
        ("a.idx", WHOLE[:10], "cut short"),
        ("a.idx", WHOLE[:3], "start as an IDX"),
        ("a.idx", WHOLE + b"0", "followed by something else"),
        ("a.idx", b"PK\x03\x04" + WHOLE, "start as an IDX .*got 50 4b 03 04"),
        ("a.idx", b"\0\0\x07" + WHOLE[3:], "start as an IDX"),
        ("a.idx", idx_bytes(LABELS), "give the file of images"),
        ("a.idx.gz", gzip.compress(WHOLE)[:-9], "EOFError"),
        ("a.idx.gz", gzip.compress(b""), "start as an IDX .*got nothing"),
        ("a.idx.gz", WHOLE, "BadGzipFile"),
    ],
)
def test_refused(tmp_path, name, content, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ReadError, match=words) as caught:
        load_examples(path)
    assert str(path) in str(caught.value)


def test_labels_beside_of_another_length(tmp_path):
    (tmp_path / "images-idx3").write_bytes(idx_bytes(IMAGES))
    (tmp_path / "labels-idx1").write_bytes(idx_bytes(LABELS[:1]))
    with pytest.raises(ReadError, match=r"2 labels in .*labels-idx1.* got 1"):
        load_examples(tmp_path / "images-idx3")
