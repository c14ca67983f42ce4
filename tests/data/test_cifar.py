"""CIFAR-10 folders of the published format, small ones made here."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

from localelastic.data import Pixels, load_examples
from localelastic.errors import ReadError

NAMES = [b"airplane", b"automobile", b"bird"]


def batch(n, seed, **changed):
    data = np.random.default_rng(seed).integers(0, 256, (n, 3072), dtype=np.uint8)
    return {b"batch_label": b"x", b"labels": [i % 3 for i in range(n)], b"data": data, **changed}


def write(folder, batches, names=NAMES):
    folder.mkdir()
    (folder / "batches.meta").write_bytes(pickle.dumps({b"label_names": names}, protocol=2))
    for number, content in enumerate(batches, start=1):
        (folder / f"data_batch_{number}").write_bytes(pickle.dumps(content, protocol=2))
    return folder


def test_channels_rows_and_columns(tmp_path):
    first, second = batch(4, 0), batch(2, 1)
    found = load_examples(write(tmp_path / "cifar-10-batches-py", [first, second]))
    assert found.shape == (3, 32, 32)
    assert found.classes == ("airplane", "automobile", "bird", "airplane", "airplane", "automobile")
    assert found.ids[3:5] == ("data_batch_1-00003", "data_batch_2-00000")
    red_of_second_row = first[b"data"][1, 32:64] / 255 * 2 - 1
    np.testing.assert_allclose(found.inputs[1, 0, 1].numpy(), red_of_second_row, atol=1e-6)
    blue = second[b"data"][1, 2048:].reshape(32, 32) / 255 * 2 - 1
    np.testing.assert_allclose(found.inputs[5, 2].numpy(), blue, atol=1e-6)


def test_pixels(tmp_path):
    found = load_examples(write(tmp_path / "c", [batch(3, 0)]), pixels=Pixels.UNIT)
    assert 0 <= found.inputs.min() < 0.01
    assert 0.99 < found.inputs.max() <= 1


class Evil:
    def __reduce__(self):
        return os.system, ("touch hacked",)


def test_a_pickle_that_runs_code_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ReadError, match="run code"):
        load_examples(write(tmp_path / "c", [batch(3, 0, **{"evil": Evil()})]))
    assert not (tmp_path / "hacked").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({b"labels": [0]}, "expected data"),
        (batch(3, 0, **{"labels": []}) | {b"labels": [0]}, "one label for each row"),
        (batch(3, 0) | {b"labels": [0, 1, 9]}, "labels 0 to 2"),
        (batch(3, 0) | {b"data": np.zeros((3, 10), np.uint8)}, "3 x 32 x 32"),
        ([1], "dictionary"),
    ],
)
def test_other_contents_are_refused(content, words, tmp_path):
    with pytest.raises(ReadError, match=words):
        load_examples(write(tmp_path / "c", [content]))


def test_a_damaged_batch_is_named(tmp_path):
    folder = write(tmp_path / "c", [batch(3, 0)])
    whole = (folder / "data_batch_1").read_bytes()
    (folder / "data_batch_1").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="data_batch_1"):
        load_examples(folder)
