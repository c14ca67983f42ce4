"""Fewer, larger cells, and cells as a file."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from jaxtyping import Float
from PIL import Image


def mean_along(
    values: Float[np.ndarray, "*shape"], *, axis: int, block: int
) -> Float[np.ndarray, "*fewer"]:
    """Replace each ``block`` neighbours along an axis by their mean; the last may be fewer.

    Example:
        >>> mean_along(np.array([1.0, 3.0, 9.0]), axis=0, block=2).tolist()
        [2.0, 9.0]
    """
    starts = np.arange(0, values.shape[axis], block)
    counts = np.diff(starts, append=values.shape[axis])
    sums = np.moveaxis(np.add.reduceat(values, starts, axis=axis), axis, -1)
    return np.moveaxis(sums / counts, -1, axis)


def block_mean(
    values: Float[np.ndarray, "*stack h w"], *, block: int
) -> Float[np.ndarray, "*stack a b"]:
    """Replace each ``block`` x ``block`` square of the last two axes by its mean."""
    return mean_along(mean_along(values, axis=-2, block=block), axis=-1, block=block)


def png(picture: Image.Image) -> bytes:
    """The file a picture is written to, as bytes."""
    file = BytesIO()
    picture.save(file, format="PNG", optimize=True)
    return file.getvalue()
