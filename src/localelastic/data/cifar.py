"""CIFAR-10 as it is published for Python: a folder ``cifar-10-batches-py`` of pickled batches."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source, reading
from localelastic.data.scaling import prepare
from localelastic.errors import ReadError

_BATCHES = "data_batch_*"
_META = "batches.meta"
_PLAIN = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}


class _Unpickler(pickle.Unpickler):
    """Arrays, numbers and text alone: any other pickle can run code."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _PLAIN:
            raise ReadError(
                f"expected arrays, numbers and text in a CIFAR batch, got {module}.{name}; "
                "it is refused, because loading it could run code"
            )
        return super().find_class(module, name)


def is_cifar(path: Path) -> bool:
    """Whether a folder holds training batches and the names of the classes."""
    return path.is_dir() and (path / _META).is_file() and any(path.glob(_BATCHES))


def _read(path: Path, options: Options) -> Examples:
    names = [name.decode() for name in _entry(_load(path / _META), b"label_names", path / _META)]
    images, labels, ids = [], [], []
    for file in sorted(path.glob(_BATCHES)):
        batch = _load(file)
        data = np.asarray(_entry(batch, b"data", file))
        given = list(_entry(batch, b"labels", file))
        if data.ndim != 2 or data.shape[1] != 3072 or len(data) != len(given):
            raise ReadError(
                f"expected one label for each row of 3 x 32 x 32 bytes in {file}, got "
                f"{len(given)} labels for data of shape {data.shape}"
            )
        if not all(0 <= label < len(names) for label in given):
            raise ReadError(f"expected labels 0 to {len(names) - 1} in {file}, got others")
        images.append(data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1).astype(np.uint8))
        labels += [names[label] for label in given]
        ids += [f"{file.name}-{row:05d}" for row in range(len(given))]
    prepared = prepare(np.concatenate(images), pixels=options.pixels)
    source = f"CIFAR-10 training images in {path.name}; {prepared.how}"
    return Examples.of(prepared.inputs, classes=labels, ids=ids, source=source)


def _load(file: Path) -> dict[bytes, Any]:
    with reading(file, kind="a CIFAR batch"), file.open("rb") as stream:
        found = _unpickled(stream)
    if not isinstance(found, dict):
        raise ReadError(f"expected a dictionary in {file}, got {type(found).__name__}")
    return found


def _unpickled(stream: BinaryIO) -> Any:
    return _Unpickler(stream, encoding="bytes").load()


def _entry(batch: dict[bytes, Any], name: bytes, file: Path) -> Any:
    if name not in batch:
        known = ", ".join(str(key) for key in batch)
        raise ReadError(f"expected {name.decode()} in {file}, got {known}")
    return batch[name]


CIFAR = Source("a cifar-10-batches-py folder", is_cifar, _read)
