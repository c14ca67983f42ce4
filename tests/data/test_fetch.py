"""Data sets that are fetched: from a server of this test, in the formats of the real ones."""

from __future__ import annotations

import gzip
import hashlib
import io
import pickle
import struct
import tarfile
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import numpy as np
import pytest

from localelastic.data import fetch, load_examples
from localelastic.errors import ReadError


class Silent(SimpleHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def log_message(self, *given):
        self.asked.append(self.path)


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A folder that is served, and its address; the cache is another one."""
    (tmp_path / "served").mkdir()
    Silent.asked.clear()
    handler = partial(Silent, directory=tmp_path / "served")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("LOCALELASTIC_DATA", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield tmp_path / "served", f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


def idx(array):
    return gzip.compress(
        bytes([0, 0, 8, array.ndim])
        + struct.pack(f">{array.ndim}I", *array.shape)
        + array.tobytes()
    )


def serve(served, monkeypatch, name, contents):
    folder, address = served
    remote = fetch.REMOTE[name]
    files = []
    for file, content in zip(remote.files, contents, strict=True):
        (folder / file.name).write_bytes(content)
        files.append(replace(file, md5=hashlib.md5(content).hexdigest()))
    ours = replace(remote, addresses=("http://127.0.0.1:9/", address), files=tuple(files))
    monkeypatch.setitem(fetch.REMOTE, name, ours)


@pytest.mark.parametrize("name", ["mnist-train", "fashion-mnist"])
def test_idx_once_and_from_the_second_address(name, served, monkeypatch):
    images = np.arange(2 * 28 * 28, dtype=np.uint8).reshape(2, 28, 28)
    serve(served, monkeypatch, name, [idx(images), idx(np.array([7, 2], np.uint8))])
    found = load_examples(name)
    assert found.classes == ("7", "2")
    assert found.shape == (1, 28, 28)
    assert "all 60,000" in found.source
    times = len(Silent.asked)
    load_examples(name)
    assert len(Silent.asked) == times


def test_an_archive_is_unpacked(served, monkeypatch):
    packed = io.BytesIO()
    parts = {
        "batches.meta": {b"label_names": [b"cat", b"dog"]},
        "data_batch_1": {b"labels": [1, 0], b"data": np.zeros((2, 3072), np.uint8)},
    }
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name, part in parts.items():
            content = pickle.dumps(part, protocol=2)
            info = tarfile.TarInfo(f"cifar-10-batches-py/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    serve(served, monkeypatch, "cifar10", [packed.getvalue()])
    assert load_examples("cifar10").classes == ("dog", "cat")


def test_what_is_not_what_was_published_is_refused(served, monkeypatch):
    images = np.zeros((1, 28, 28), np.uint8)
    serve(served, monkeypatch, "mnist-train", [idx(images), idx(np.array([1], np.uint8))])
    (served[0] / "train-images-idx3-ubyte.gz").write_bytes(b"something else")
    with pytest.raises(ReadError, match=r"(?s)cannot fetch MNIST.*yourself"):
        load_examples("mnist-train")


def test_without_a_network(served, monkeypatch):
    remote = replace(fetch.REMOTE["cifar10"], addresses=("http://127.0.0.1:9/",))
    monkeypatch.setitem(fetch.REMOTE, "cifar10", remote)
    with pytest.raises(ReadError, match=r"put cifar-10-python\.tar\.gz into"):
        load_examples("cifar10")
