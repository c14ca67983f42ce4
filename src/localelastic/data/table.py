"""Tables: CSV, TSV and Parquet, one example per row."""

from __future__ import annotations

import gzip
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source, class_names, reading
from localelastic.data.scaling import prepare
from localelastic.errors import DataError, ReadError
from localelastic.shapes import Mask

if TYPE_CHECKING:
    import pyarrow as pa

_SEPARATORS = {".csv": ",", ".tsv": "\t"}
# How pandas and Arrow call a saved row number: never a feature that anyone meant.
_ROW_NUMBER = ("", "Unnamed: 0", "__index_level_0__")


def is_table(path: Path) -> bool:
    """Whether the name ends in ``.csv``, ``.tsv`` (also ``.gz``) or ``.parquet``."""
    return path.is_file() and _format(path) in (*_SEPARATORS, ".parquet")


def read_single_column(path: Path) -> tuple[str, ...]:
    """The class names in a table of one column.

    Raises:
        ReadError: the file cannot be read, or has several columns.
    """
    table = _load(path, text=())
    if table.num_columns != 1:
        raise ReadError(
            f"expected one column of labels in {path}, got {', '.join(table.column_names)}; "
            "keep the label column alone"
        )
    name = table.column_names[0]
    return _names(_load(path, text=[name]), name, path=path)


def _read(path: Path, options: Options) -> Examples:
    apart = (options.label_column, options.fine_label_column, options.id_column)
    special = [name for name in apart if name is not None]
    table = _load(path, text=special)
    features = list(options.input_columns or (n for n in table.column_names if n not in special))
    for name in (*special, *features):
        if name not in table.column_names:
            columns = ", ".join(table.column_names)
            raise ReadError(f"expected a column {name!r} in {path}, got the columns {columns}")
    prepared = prepare(_numbers(table, features, path=path), pixels=options.pixels)

    def column(name: str | None) -> tuple[str, ...] | None:
        return None if name is None else _names(table, name, path=path)

    labels, fine = column(options.label_column), column(options.fine_label_column)
    named = "" if options.label_column is None else f", labels {options.label_column!r}"
    return Examples.of(
        prepared.inputs,
        ids=column(options.id_column),
        classes=labels if fine is None else fine,
        coarse=None if fine is None else labels,
        source=f"{path.name}, {len(features)} columns{named}; {prepared.how}",
    )


def _load(path: Path, *, text: Sequence[str]) -> pa.Table:
    """The table; the columns named in ``text`` are kept as written, not taken for numbers."""
    with reading(path, kind=TABLE.kind):
        table = _parquet(path) if _format(path) == ".parquet" else _separated(path, text)
        names = table.column_names
    if table.num_rows == 0:
        raise ReadError(f"expected rows in {path}, got only the columns {', '.join(names)}")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ReadError(f"expected every column of {path} to have its own name, got {twice} twice")
    return table


def _parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        return file.read()


def _separated(path: Path, text: Sequence[str]) -> pa.Table:
    import pyarrow as pa
    from pyarrow import csv

    content = path.read_bytes()
    if path.suffix.lower() == ".gz":
        content = gzip.decompress(content)
    # One block: wide tables have rows longer than the usual one, which pyarrow refuses.
    table = csv.read_csv(
        io.BytesIO(content),
        read_options=csv.ReadOptions(block_size=len(content) + 1),
        parse_options=csv.ParseOptions(delimiter=_SEPARATORS[_format(path)]),
        convert_options=csv.ConvertOptions(column_types=dict.fromkeys(text, pa.string())),
    )
    numbers = [name for name in table.column_names if _is_number(name)]
    counted = list(map(str, range(table.num_columns)))
    if len(numbers) == table.num_columns and table.column_names != counted:
        raise ReadError(
            f"expected column names in the first line of {path}, got only numbers "
            f"({', '.join(numbers[:3])} ...); add a line with names"
        )
    return table


def _numbers(table: pa.Table, features: Sequence[str], *, path: Path) -> np.ndarray:
    """The feature columns, ``(n, d)``, in the narrowest type that holds them all."""
    import pyarrow as pa
    from pyarrow import compute

    counters = [name for name in features if name in _ROW_NUMBER]
    if counters:
        raise ReadError(
            f"expected features in {path}, got what looks like a saved row number in column "
            f"{counters[0]!r}; drop it, or pass id_column={counters[0]!r}"
        )
    types = {name: table.schema.field(name).type for name in features}
    numeric = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_null)
    words = [name for name, kind in types.items() if not any(test(kind) for test in numeric)]
    if words:
        raise ReadError(
            f"expected numbers in every feature column of {path}, got something else in "
            f"{', '.join(map(repr, words[:5]))} ({len(words)} of {len(features)}); name the "
            "columns to use with input_columns, the labels with label_column, ids with id_column"
        )
    if not features:
        raise ReadError(f"expected feature columns in {path}, got {', '.join(table.column_names)}")
    for name in features:
        missing = compute.is_null(table.column(name), nan_is_null=True).to_numpy()
        _refuse_missing(missing, name, path=path)
    columns = [table.column(name).to_numpy() for name in features]
    # Small whole numbers in a table are no pixels, whatever type they are stored in.
    return np.stack([c.astype(np.int16) if c.dtype == np.uint8 else c for c in columns], axis=1)


def _names(table: pa.Table, name: str, *, path: Path) -> tuple[str, ...]:
    with reading(path, kind=TABLE.kind):
        values = table.column(name).to_pylist()
    missing = [value is None or value != value or not str(value).strip() for value in values]
    _refuse_missing(np.array(missing), name, path=path)
    return class_names(values)


def _refuse_missing(missing: Mask, name: str, *, path: Path) -> None:
    rows = missing.nonzero()[0]
    if len(rows):
        raise DataError(
            f"expected a value in every cell of {path}, got {len(rows)} missing in column "
            f"{name!r} (first: row {rows[0] + 1}); fill them or drop those rows"
        )


def _format(path: Path) -> str:
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


TABLE = Source(
    "a .csv, .tsv or .parquet table",
    is_table,
    _read,
    frozenset({"input_columns", "label_column", "fine_label_column", "id_column"}),
)
