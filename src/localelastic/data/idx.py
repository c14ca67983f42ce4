"""IDX files, the format MNIST came in: ``train-images-idx3-ubyte``, plain or ``.gz``."""

from __future__ import annotations

import gzip
import math
import re
import struct
from pathlib import Path

import numpy as np
from jaxtyping import Shaped

from localelastic.data.examples import Examples
from localelastic.data.reading import Options, Source, class_names, reading
from localelastic.data.scaling import prepare
from localelastic.errors import ReadError

_TYPES = {0x08: "u1", 0x09: "i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_NAME = re.compile(r"(^|[-._])idx\d*([-._]|$)")


def is_idx(path: Path) -> bool:
    """Whether the name says IDX: ``images-idx3-ubyte``, ``images.idx3-ubyte.gz``, ``a.idx``."""
    return path.is_file() and _NAME.search(path.name) is not None


def read_idx(path: Path) -> Shaped[np.ndarray, "n *shape"]:
    """The array in an IDX file.

    Args:
        path: the file, gzipped if its name ends in ``.gz``.

    Returns:
        The array, in the type and shape that the file names.

    Raises:
        ReadError: the file is missing, damaged, of another kind, too short or too long.
    """
    with reading(path, kind="an IDX file"):
        content = path.read_bytes()
        return _decode(gzip.decompress(content) if path.suffix == ".gz" else content, path=path)


def _decode(content: bytes, *, path: Path) -> np.ndarray:
    start = content[:4].hex(" ") or "nothing"
    if len(content) < 4 or content[:2] != b"\0\0" or content[2] not in _TYPES:
        raise ReadError(
            f"expected {path} to start as an IDX file does (00 00, a type, the number of axes), "
            f"got {start}"
        )
    dtype, axes = np.dtype(_TYPES[content[2]]), content[3]
    header = 4 + 4 * axes
    shape = struct.unpack(f">{axes}I", content[4:header].ljust(4 * axes, b"\0"))
    expected = header + math.prod(shape) * dtype.itemsize
    if len(content) < header or len(content) != expected:
        cut = "cut short" if len(content) < expected else "followed by something else"
        raise ReadError(
            f"expected {expected} bytes in {path} for shape {shape}, got {len(content)}; "
            f"the file is {cut}, fetch it again"
        )
    return np.frombuffer(content, dtype, offset=header).reshape(shape)


def _labels_beside(path: Path) -> Path | None:
    name = path.name.replace("images", "labels").replace("idx3", "idx1")
    plain = name.removesuffix(".gz")
    beside = (path.with_name(name), path.with_name(plain), path.with_name(plain + ".gz"))
    return next((file for file in beside if file != path and file.is_file()), None)


def _read(path: Path, options: Options) -> Examples:
    images = read_idx(path)
    if images.ndim < 2:
        raise ReadError(
            f"expected inputs in {path}, got an array of shape {images.shape}; "
            "give the file of images, and this one as labels"
        )
    labels = None if options.labels is not None else _labels_beside(path)
    classes = None
    if labels is not None:
        classes = class_names(read_idx(labels).tolist())
        if len(classes) != len(images):
            raise ReadError(
                f"expected {len(images)} labels in {labels}, one per image of {path.name}, "
                f"got {len(classes)}"
            )
    prepared = prepare(images, pixels=options.pixels)
    named = "" if labels is None else f", labels from {labels.name}"
    source = f"{path.name}{named}; {prepared.how}"
    return Examples.of(prepared.inputs, classes=classes, source=source)


IDX = Source("an IDX file", is_idx, _read, frozenset({"labels"}))
