"""One example as a small picture: an image where it is one, else a curve of its values."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from PIL import Image

from localelastic.plots.pixels import block_mean, mean_along, png

SIDE = 64
"""Images with a longer side are averaged down to at most this."""

POINTS = 96
"""Longer curves are averaged down to at most this many points."""


def is_image(shape: tuple[int, ...]) -> bool:
    """Whether an example of this shape is drawn as an image: (h, w), or (c, h, w) with c 1 or 3."""
    return len(shape) == 2 or (len(shape) == 3 and shape[0] in (1, 3))


def thumbnail_png(example: Float[np.ndarray, "*shape"], *, low: float, high: float) -> bytes:
    """An image as PNG, black at ``low`` and white at ``high``.

    Take both from the whole data set: then two thumbnails can be compared.
    """
    channels = example.reshape(-1, *example.shape[-2:]).astype(float)
    small = block_mean(channels, block=-(-max(channels.shape[1:]) // SIDE))
    share = np.clip((small - low) / ((high - low) or 1.0), 0, 1)
    pixels = (share * 255).round().astype(np.uint8)
    return png(Image.fromarray(pixels[0] if len(pixels) == 1 else pixels.transpose(1, 2, 0)))


def curve_points(
    example: Float[np.ndarray, "*shape"], *, low: float, high: float
) -> Float[np.ndarray, "p 2"]:
    """The values of an example as points of a curve in the unit square, y pointing down (SVG)."""
    values = example.reshape(-1).astype(float)
    means = mean_along(values, axis=0, block=-(-len(values) // POINTS))
    x = np.linspace(0, 1, len(means)) if len(means) > 1 else np.array([0.5])
    return np.stack([x, 1 - (means - low) / ((high - low) or 1.0)], axis=1)
