"""Make the digits shipped with the package from the original MNIST training files.

    python scripts/pack_mnist.py FOLDER [OUT]

FOLDER holds train-images-idx3-ubyte and train-labels-idx1-ubyte, plain or gzipped. The same input
gives the same bytes on every machine: the archive bears no date, and bzip2, unlike zlib and xz,
compresses alike in all its releases.
"""

import argparse
import hashlib
import io
import zipfile
from pathlib import Path

import numpy as np

from localelastic.data.idx import read_idx
from localelastic.data.mnist import MNIST_FILE

PER_DIGIT = 1500


def find(folder: Path, name: str) -> Path:
    plain = folder / name
    return plain if plain.exists() else folder / f"{name}.gz"


def first_of_each(labels: np.ndarray, count: int) -> np.ndarray:
    firsts = [np.flatnonzero(labels == digit)[:count] for digit in np.unique(labels)]
    return np.sort(np.concatenate(firsts))


def pack(arrays: dict[str, np.ndarray]) -> bytes:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # dated 1980-01-01
            entry.compress_type = zipfile.ZIP_BZIP2
            entry.create_system = 3
            content = io.BytesIO()
            np.lib.format.write_array(content, array, version=(1, 0), allow_pickle=False)
            file.writestr(entry, content.getvalue())
    return archive.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description="Pack the shipped MNIST digits.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path, nargs="?", default=MNIST_FILE)
    arguments = parser.parse_args()
    images = read_idx(find(arguments.folder, "train-images-idx3-ubyte"))
    labels = read_idx(find(arguments.folder, "train-labels-idx1-ubyte"))
    chosen = first_of_each(labels, PER_DIGIT)
    ids = np.array([f"train-{index:05d}" for index in chosen])
    packed = pack({"images": images[chosen], "labels": labels[chosen], "ids": ids})
    arguments.out.write_bytes(packed)
    print(f"{arguments.out}: {len(packed):,} bytes, SHA-256 {hashlib.sha256(packed).hexdigest()}")


if __name__ == "__main__":
    main()
