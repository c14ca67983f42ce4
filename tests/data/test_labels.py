import numpy as np
import pytest

from localelastic.data import load_examples
from localelastic.data.labels import read_labels
from localelastic.errors import DataError, ReadError


@pytest.mark.parametrize(
    ("name", "text", "classes"),
    [
        ("y.txt", "5\n8\n", ("5", "8")),
        ("y.txt", "\ufeffcat\r\nsea lion\r\n", ("cat", "sea lion")),
        ("y.txt", "5.000000000000000000e+00\n8.0e+00\n", ("5", "8")),
        ("y.csv", "label\n007\n8\n", ("007", "8")),
        ("y.tsv", "label\ncat\ndog\n", ("cat", "dog")),
    ],
)
def test_text(tmp_path, name, text, classes):
    path = tmp_path / name
    path.write_text(text, "utf-8", newline="")
    assert read_labels(path, count=2) == classes


@pytest.mark.parametrize(
    ("name", "content", "error", "words"),
    [
        ("y.txt", b"a\nb\nc\n", ReadError, "2 labels in .*y.txt, .*got 3"),
        ("y.txt", b"a\n\n", DataError, "none for number 2"),
        ("y.txt", b"caf\xe9\nb\n", ReadError, "UnicodeDecodeError"),
        ("y.csv", b"cat\ndog\n", ReadError, "got 1, and the first line as the column's name"),
        ("y.csv", b"5\n8\n", ReadError, "only numbers"),
        ("y.csv", b"a,b\n1,2\n3,4\n", ReadError, "one column of labels .*got a, b"),
        ("y.npy", b"no", ReadError, "y.npy"),
        ("y.doc", b"5\n8\n", ReadError, "got '.doc'"),
    ],
)
def test_refused(tmp_path, name, content, error, words):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(error, match=words):
        read_labels(path, count=2)


@pytest.mark.parametrize("labels", ["missing.npy", "folder"])
def test_no_file(tmp_path, labels):
    np.save(tmp_path / "x.npy", np.zeros((2, 1)))
    (tmp_path / "folder").mkdir()
    with pytest.raises(ReadError, match=f"{labels}, which is no file"):
        load_examples(tmp_path / "x.npy", labels=tmp_path / labels)
