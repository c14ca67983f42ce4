import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image
from pyarrow import parquet, table

from localelastic.data import Pixels, load_examples
from localelastic.data.load import SHIPPED, SOURCES
from localelastic.data.reading import Options
from localelastic.errors import LocalElasticError, ReadError, SettingError
from worlds import unchecked


def one_of_each(folder):
    """A small whole file of every format."""
    np.savez(folder / "a.npz", x=np.eye(3), y=[1, 2, 3])
    np.save(folder / "a.npy", np.eye(3))
    parquet.write_table(table({"a": [1, 2], "b": [3.0, 4.0]}), folder / "a.parquet")
    (folder / "a.csv").write_text("a,b\n1,2\n3,4\n")
    idx = struct.pack(">4B2I", 0, 0, 8, 2, 2, 2) + bytes(4)
    (folder / "a.idx").write_bytes(idx)
    (folder / "a.idx.gz").write_bytes(gzip.compress(idx))
    (folder / "images").mkdir()
    Image.fromarray(np.eye(9, dtype=np.uint8)).save(folder / "images" / "a.png")
    return sorted(path for path in folder.rglob("*") if path.is_file())


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return one_of_each(tmp_path_factory.mktemp("whole"))


def read(path):
    return load_examples(path.parent if path.suffix == ".png" else path)


def failure(path):
    """What reading says is wrong, if anything; no error but our own is caught."""
    try:
        read(path)
    except LocalElasticError as error:
        return error
    return None


def test_every_format_is_recognised(whole):
    assert [len(read(path)) for path in whole] == [2, 2, 2, 3, 3, 2, 1]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_damage_is_always_told_by_our_own_errors(whole, tmp_path, data):
    path = data.draw(st.sampled_from(whole))
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    damaged = tmp_path / ("one" if path.suffix == ".png" else "") / path.name
    damaged.parent.mkdir(exist_ok=True)
    damaged.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    error = failure(damaged)
    assert not isinstance(error, ReadError) or str(damaged.parent) in str(error)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing.csv", "missing.csv: no such path"),
        ("mnisst", "a folder or one of mnist, .*, got mnisst"),
        ("a.doc", "a.doc; is its ending right?"),
        ("empty.csv", "got an empty file"),
        ("empty.npz", "got an empty file"),
        ("folder.csv", "empty folder"),
        ("a.csv/b.csv", "no such path"),
        ("x" * 5000, "OSError"),
    ],
)
def test_refused(tmp_path, monkeypatch, name, words):
    monkeypatch.chdir(tmp_path)
    for file in ("a.doc", "a.csv"):
        (tmp_path / file).write_text("a\n1\n")
    for file in ("empty.csv", "empty.npz"):
        (tmp_path / file).touch()
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(ReadError, match=words):
        load_examples(name)


def test_no_path_at_all():
    with pytest.raises(ReadError, match="path or the name of examples, got None"):
        unchecked(load_examples)(None)


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied", str(path))

    (tmp_path / "a.csv").write_text("a\n1\n")
    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(ReadError, match="PermissionError"):
        load_examples(tmp_path / "a.csv")


def test_options_without_a_use_are_refused(whole):
    npy = next(path for path in whole if path.suffix == ".npy")
    with pytest.raises(SettingError, match=r"for a \.npy array, labels; got image_size"):
        load_examples(npy, image_size=(2, 2))
    with pytest.raises(SettingError, match="none of the options; got label_column"):
        load_examples("mnist", label_column="y")


def test_labels_for_data_that_has_its_own(whole, tmp_path):
    labels = tmp_path / "y.txt"
    labels.write_text("1\n2\n3\n")
    npz = next(path for path in whole if path.suffix == ".npz")
    with pytest.raises(SettingError, match=r"has its own, got .*y\.txt"):
        load_examples(npz, labels=labels)


def test_every_option_of_a_source_exists():
    known = set(Options.__dataclass_fields__)
    assert all(source.options <= known for source in (*SOURCES, *SHIPPED.values()))


def test_a_name_is_a_shipped_set_and_a_path_is_a_path(tmp_path, monkeypatch):
    (tmp_path / "mnist").mkdir()
    Image.fromarray(np.eye(9, dtype=np.uint8)).save(tmp_path / "mnist" / "a.png")
    monkeypatch.chdir(tmp_path)
    assert len(load_examples("./mnist")) == 1
    shipped = load_examples("mnist", pixels=Pixels.RAW)
    assert (len(shipped), shipped.inputs.max()) == (15_000, 255)
    assert shipped.source.endswith("each digit; pixels scaled to [0, 255]")
