"""NumPy files: ``.npy`` holds one array, ``.npz`` several with names."""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Shaped
from numpy.lib.npyio import NpzFile

from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source, class_names, reading
from localelastic.data.scaling import prepare
from localelastic.errors import DataError, ReadError

# Names of inputs and labels that belong together, in lower case.
_PAIRS = (
    ("x", "y"),
    ("images", "labels"),
    ("inputs", "labels"),
    ("inputs", "targets"),
    ("features", "labels"),
    ("data", "labels"),
    ("x_train", "y_train"),
    ("train_images", "train_labels"),
)


def read_npy(path: Path) -> Shaped[np.ndarray, "*shape"]:
    """The array in a ``.npy`` file; pickled objects are refused, for they can run code.

    Raises:
        ReadError: the file is missing, damaged, of another kind, or holds objects.
    """
    with reading(path, kind="a .npy array"), path.open("rb") as file:
        array: np.ndarray = np.lib.format.read_array(file, allow_pickle=False)
        return array


def labels_of(array: Shaped[np.ndarray, "*shape"], *, name: str) -> tuple[str, ...]:
    """One class name per entry of an ``(n,)`` or ``(n, 1)`` array of numbers or text.

    Raises:
        DataError: another shape, such as one-hot rows, or labels that are missing.
    """
    column = array[:, 0] if array.ndim == 2 and array.shape[1] == 1 else array
    if column.ndim != 1:
        raise DataError(
            f"expected one label per example in {name}, got an array of shape {array.shape}; "
            "turn one-hot rows into labels with argmax(axis=1)"
        )
    if column.dtype.kind == "f" and np.isnan(column).any():
        raise DataError(f"expected a label for every example in {name}, got NaN")
    if column.dtype.kind == "S":
        column = np.char.decode(column, "utf-8")
    return class_names(column.tolist())


def _read_npy(path: Path, options: Options) -> Examples:
    prepared = prepare(read_npy(path), pixels=options.pixels)
    return Examples.of(prepared.inputs, source=f"{path.name}; {prepared.how}")


def _read_npz(path: Path, options: Options) -> Examples:
    if not zipfile.is_zipfile(path):
        raise ReadError(f"expected an .npz archive in {path}, got no archive; is it cut short?")
    with reading(path, kind=NPZ.kind):
        archive = np.load(path, allow_pickle=False)
    with archive:
        return _Archive(path, archive).examples(options)


@dataclass(frozen=True)
class _Archive:
    path: Path
    arrays: NpzFile

    def examples(self, options: Options) -> Examples:
        inputs_key, label_key = self.keys(options)
        inputs = self.member(inputs_key)
        count, fine_key = len(inputs), options.fine_label_column
        id_key = options.id_column or ("ids" if "ids" in self.arrays else None)
        prepared = prepare(inputs, pixels=options.pixels)
        named = "" if label_key is None else f", labels {label_key!r}"
        return Examples.of(
            prepared.inputs,
            ids=self.names(id_key, count=count),
            classes=self.classes(fine_key or label_key, count=count),
            coarse=self.names(label_key, count=count) if fine_key else None,
            source=f"{self.path.name}, inputs {inputs_key!r}{named}; {prepared.how}",
        )

    def keys(self, options: Options) -> tuple[str, str | None]:
        """The arrays of inputs and of labels, if it has any."""
        stored = {name.lower(): name for name in self.arrays}
        pairs = {stored[x]: stored[y] for x, y in _PAIRS if x in stored and y in stored}
        alone = dict.fromkeys(stored[x] for x, _ in _PAIRS if x in stored)
        candidates = list(options.input_columns or pairs or alone or self.arrays)
        if len(candidates) != 1:
            raise ReadError(
                f"expected one array of inputs in {self.path}, got "
                f"{', '.join(candidates) or 'none'}; name it with input_columns, and its labels "
                f"with label_column (arrays: {', '.join(self.arrays)})"
            )
        return candidates[0], options.label_column or pairs.get(candidates[0])

    def member(self, key: str) -> np.ndarray:
        """The array under that name."""
        if key not in self.arrays:
            raise ReadError(
                f"expected an array {key!r} in {self.path}, got {', '.join(self.arrays)}"
            )
        with reading(self.path, kind=NPZ.kind):
            array = self.arrays[key]
        if not isinstance(array, np.ndarray) or array.ndim == 0:
            raise ReadError(f"expected {key!r} in {self.path} to be an array, got a single value")
        return array

    def names(self, key: str | None, *, count: int) -> tuple[str, ...] | None:
        """One name per example."""
        if key is None:
            return None
        array = self.member(key)
        if len(array) != count:
            raise ReadError(
                f"expected {count} entries in {key!r} of {self.path}, one per example, "
                f"got {len(array)}"
            )
        return labels_of(array, name=f"{key!r} of {self.path}")

    def classes(self, key: str | None, *, count: int) -> tuple[str, ...] | None:
        """The classes; numbers 0 .. k-1 are called as ``class_names`` says, if it is there."""
        labels = self.names(key, count=count)
        if key is None or labels is None or "class_names" not in self.arrays:
            return labels
        if self.member(key).dtype.kind not in "iuf":
            return labels
        names = labels_of(self.member("class_names"), name=f"class_names of {self.path}")
        places = {str(place): name for place, name in enumerate(names)}
        unknown = sorted(set(labels) - set(places))
        if unknown:
            raise DataError(
                f"expected labels 0 .. {len(names) - 1} in {key!r} of {self.path}, which has "
                f"{len(names)} class_names, got {', '.join(unknown[:5])}"
            )
        return tuple(places[label] for label in labels)


def _suffix(path: Path, suffix: str) -> bool:
    return path.is_file() and path.suffix.lower() == suffix


NPY = Source("a .npy array", lambda path: _suffix(path, ".npy"), _read_npy, frozenset({"labels"}))

NPZ = Source(
    "an .npz archive",
    lambda path: _suffix(path, ".npz"),
    _read_npz,
    frozenset({"labels", "input_columns", "label_column", "fine_label_column", "id_column"}),
)
