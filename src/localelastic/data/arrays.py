"""NumPy files: ``.npy`` holds one array, ``.npz`` several with names."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source, class_names, reading
from localelastic.data.scaling import prepare
from localelastic.errors import DataError, ReadError

# Names of inputs and labels that belong together, in lower case.
_PAIRS = (
    ("x", "y"),
    ("images", "labels"),
    ("inputs", "targets"),
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
    with np.load(path, allow_pickle=False) as archive:
        return _from_archive(archive, path=path, options=options)


def _from_archive(archive: Mapping[str, np.ndarray], *, path: Path, options: Options) -> Examples:
    inputs_key, label_key = _keys(archive, path=path, options=options)
    inputs = _member(archive, inputs_key, path=path)

    def column(key: str | None) -> tuple[str, ...] | None:
        if key is None:
            return None
        labels = _member(archive, key, path=path)
        if len(labels) != len(inputs):
            raise ReadError(
                f"expected {len(inputs)} entries in {key!r} of {path}, one per entry of "
                f"{inputs_key!r}, got {len(labels)}"
            )
        return labels_of(labels, name=f"{key!r} of {path}")

    ids = column(options.id_column or ("ids" if "ids" in archive else None))
    labels = column(label_key)
    fine = column(options.fine_label_column)
    if labels is not None and fine is None and "class_names" in archive:
        labels = _named(labels, _member(archive, "class_names", path=path).tolist(), path=path)
    prepared = prepare(inputs, pixels=options.pixels)
    named = "" if label_key is None else f", labels {label_key!r}"
    return Examples.of(
        prepared.inputs,
        ids=ids,
        classes=labels if fine is None else fine,
        coarse=None if fine is None else labels,
        source=f"{path.name}, inputs {inputs_key!r}{named}; {prepared.how}",
    )


def _keys(
    archive: Mapping[str, np.ndarray], *, path: Path, options: Options
) -> tuple[str, str | None]:
    stored = {name.lower(): name for name in archive}
    pairs = {stored[x]: stored[y] for x, y in _PAIRS if x in stored and y in stored}
    alone = [stored[x] for x, _ in _PAIRS if x in stored]
    candidates = list(options.input_columns or pairs or dict.fromkeys(alone) or archive)
    if len(candidates) != 1:
        raise ReadError(
            f"expected one array of inputs in {path}, got {', '.join(candidates) or 'none'}; "
            f"name it with input_columns, and its labels with label_column "
            f"(arrays: {', '.join(archive)})"
        )
    return candidates[0], options.label_column or pairs.get(candidates[0])


def _member(archive: Mapping[str, np.ndarray], key: str, *, path: Path) -> np.ndarray:
    if key not in archive:
        raise ReadError(f"expected an array {key!r} in {path}, got {', '.join(archive)}")
    array = archive[key]
    if not isinstance(array, np.ndarray) or array.ndim == 0:
        raise ReadError(f"expected {key!r} in {path} to be an array, got a single value")
    return array


def _named(labels: tuple[str, ...], names: list[object], *, path: Path) -> tuple[str, ...]:
    """Labels 0 .. k-1 by the names at those places; labels that are names already stay."""
    known = class_names(names)
    if set(labels) <= set(known):
        return labels
    places = {str(place): name for place, name in enumerate(known)}
    unknown = sorted(set(labels) - set(places))
    if unknown:
        raise DataError(
            f"expected labels 0 .. {len(known) - 1}, as {path} has {len(known)} class_names, "
            f"got {', '.join(unknown[:5])}"
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
