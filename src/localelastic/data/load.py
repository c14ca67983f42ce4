"""One door to every kind of data source."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from localelastic.data.arrays import NPY, NPZ
from localelastic.data.cifar import CIFAR
from localelastic.data.examples import Examples
from localelastic.data.fetch import SOURCES as FETCHED
from localelastic.data.folder import FOLDER
from localelastic.data.idx import IDX
from localelastic.data.labels import read_labels
from localelastic.data.mnist import MNIST
from localelastic.data.reading import Options, Source, reading
from localelastic.data.scaling import Pixels
from localelastic.data.table import TABLE
from localelastic.errors import ReadError, SettingError

SOURCES: tuple[Source, ...] = (CIFAR, FOLDER, NPZ, NPY, TABLE, IDX)
"""What a path can be, the first that fits."""

SHIPPED: dict[str, Source] = {"mnist": MNIST, **FETCHED}
"""Data sets known by name; a file or folder of that name is ``./mnist``."""


def load_examples(
    source: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    input_columns: str | Sequence[str] | None = None,
    label_column: str | None = None,
    fine_label_column: str | None = None,
    id_column: str | None = None,
    image_size: tuple[int, int] | None = None,
    pixels: Pixels = Pixels.SIGNED,
) -> Examples:
    """Examples from a file, a folder, or the name of a shipped data set.

    - ``"mnist"``: the shipped digits, see :func:`load_mnist`.
    - ``"mnist-train"``, ``"fashion-mnist"``, ``"cifar10"``: all training images, fetched the first
      time, checked, and kept in the user's cache (or the folder ``LOCALELASTIC_DATA`` names).
    - ``.npz``: arrays under usual names (x and y, images and labels, data and labels, inputs and
      targets, x_train and y_train), labels named by ``class_names`` if the archive has it, and
      ``ids``. Other names of arrays are given as columns.
    - ``.npy``: inputs alone.
    - IDX (``images-idx3-ubyte``, also ``.gz``), labels from the file that lies beside it.
    - The folder ``cifar-10-batches-py`` as CIFAR-10 is published.
    - A folder of images, ``class/image.png`` or ``coarse/class/image.png`` or images alone.
    - A table (``.csv``, ``.tsv``, ``.parquet``), one example per row.

    Numbers become the default floating-point type of torch. Only bytes (``uint8``) outside tables
    are taken for pixels and scaled. Images end up channel-first. ``Examples.source`` says what was
    done.

    Args:
        source: where the examples are.
        labels: a file with the class of each example, for a source that has none: ``.npy``,
            ``.txt`` (one per line), a table of one column, or IDX.
        input_columns: the feature columns of a table (default: all but those named below), or the
            array of inputs in an ``.npz``.
        label_column: the column or ``.npz`` array of classes (default for a table: none).
        fine_label_column: the column or array of finer classes, if ``label_column`` is coarse:
            primary and auxiliary are chosen by the coarse ones, clusters scored by the fine ones.
        id_column: the column or array of ids (default: positions, or paths in a folder).
        image_size: ``(height, width)`` that the images of a folder are brought to (bilinear).
        pixels: the scale of pixels; the paper's by default.

    Returns:
        The examples, in the order of the data.

    Raises:
        ReadError: a file is missing, damaged, of an unknown kind, or lacks what was named.
        DataError: values are missing, not finite or not numbers, or images differ in size.
        SettingError: an option that this kind of source has no use for.

    Example:
        >>> load_examples("mnist", pixels=Pixels.UNIT).shape
        (1, 28, 28)
    """
    if not isinstance(source, str | os.PathLike):
        raise ReadError(f"expected the path or the name of examples, got {source!r}")
    columns = (input_columns,) if isinstance(input_columns, str) else input_columns
    options = Options(
        labels=None if labels is None else Path(labels).expanduser(),
        input_columns=None if columns is None else tuple(columns),
        label_column=label_column,
        fine_label_column=fine_label_column,
        id_column=id_column,
        image_size=image_size,
        pixels=pixels,
    )
    path = Path(source).expanduser()
    kind = (SHIPPED.get(source) if isinstance(source, str) else None) or _kind(path)
    _refuse_unused(options, kind)
    examples = kind.read(path, options)
    return examples if options.labels is None else _labelled(examples, options.labels)


def _kind(path: Path) -> Source:
    with reading(path, kind="examples"):
        if not path.exists():
            shipped = ", ".join(SHIPPED)
            raise ReadError(
                f"expected a file, a folder or one of {shipped}, got {path}: no such path"
            )
        if path.is_file() and path.stat().st_size == 0:
            raise ReadError(f"expected examples in {path}, got an empty file")
        kind = next((source for source in SOURCES if source.reads(path)), None)
    if kind is None:
        known = ", ".join(source.kind for source in SOURCES)
        raise ReadError(f"expected {known}, got {path}; is its ending right?")
    return kind


def _refuse_unused(options: Options, kind: Source) -> None:
    unused = sorted(options.given - kind.options)
    if unused:
        known = ", ".join(sorted(kind.options)) or "none of the options"
        raise SettingError(f"expected, for {kind.kind}, {known}; got {', '.join(unused)}")


def _labelled(examples: Examples, labels: Path) -> Examples:
    if examples.classes is not None:
        raise SettingError(f"expected no labels for data that has its own, got {labels}")
    named = examples.source.replace("; ", f", labels from {labels.name}; ", 1)
    return replace(examples, classes=read_labels(labels, count=len(examples)), source=named)
