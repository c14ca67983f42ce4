"""A file of labels that goes with a file of inputs."""

from __future__ import annotations

from pathlib import Path

from localelastic.data.arrays import labels_of, read_npy
from localelastic.data.idx import is_idx, read_idx
from localelastic.data.reading import class_names, reading
from localelastic.data.table import is_table, read_single_column
from localelastic.errors import DataError, ReadError


def read_labels(path: Path, *, count: int) -> tuple[str, ...]:
    """The class of each example, in the order of the inputs.

    Args:
        path: ``.npy`` (one number or name per example), ``.txt`` (one name per line), a table of
            one column under its name (``.csv``, ``.tsv``, ``.parquet``), or an IDX file.
        count: how many examples there are.

    Returns:
        ``count`` class names.

    Raises:
        ReadError: the file is missing, damaged, of another kind, or of another length.
        DataError: an example is left without a label.
    """
    labels = _read(path)
    if len(labels) != count:
        header = ", and the first line as the column's name" if is_table(path) else ""
        raise ReadError(
            f"expected {count} labels in {path}, one per example, got {len(labels)}{header}"
        )
    if "" in labels:
        raise DataError(
            f"expected a label for every example in {path}, got none for number "
            f"{labels.index('') + 1}"
        )
    return labels


def _read(path: Path) -> tuple[str, ...]:
    with reading(path, kind="labels"):
        exists = path.is_file()
    if not exists:
        raise ReadError(f"expected a file of labels, got {path}, which is no file")
    if is_table(path):
        return read_single_column(path)
    if is_idx(path):
        return labels_of(read_idx(path), name=str(path))
    match path.suffix.lower():
        case ".npy":
            return labels_of(read_npy(path), name=str(path))
        case ".txt":
            with reading(path, kind="labels"):
                return class_names(path.read_text("utf-8-sig").splitlines())
        case other:
            raise ReadError(
                f"expected labels in .npy, .txt, .csv, .tsv, .parquet or IDX, got {other!r} "
                f"({path})"
            )
