"""The script that made the shipped digits makes them again."""

import runpy
import struct
import sys
from pathlib import Path

import numpy as np

from localelastic.data.mnist import MNIST_FILE

SCRIPT = Path(__file__).parents[2] / "scripts" / "pack_mnist.py"


def training_set():
    """The training set as far as it is shipped; images left out are black, of a full class."""
    with np.load(MNIST_FILE) as digits:
        images, labels, ids = digits["images"], digits["labels"], digits["ids"]
    places = np.array([int(name.removeprefix("train-")) for name in ids])
    all_images = np.zeros((places[-1] + 100, 28, 28), np.uint8)
    all_images[places] = images
    first_full = min(places[labels == digit][-1] for digit in range(10))
    full = next(digit for digit in range(10) if places[labels == digit][-1] == first_full)
    all_labels = np.full(len(all_images), full, np.uint8)
    all_labels[places] = labels
    return all_images, all_labels


def test_the_shipped_file_is_made_again_byte_for_byte(tmp_path, monkeypatch, capsys):
    images, labels = training_set()
    for name, array in (("images-idx3", images), ("labels-idx1", labels)):
        header = struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape)
        (tmp_path / f"train-{name}-ubyte").write_bytes(header + array.tobytes())
    made = tmp_path / "made.npz"
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), str(tmp_path), str(made)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert made.read_bytes() == MNIST_FILE.read_bytes()
    assert "2,136,207 bytes, SHA-256 2eda43b2" in capsys.readouterr().out
