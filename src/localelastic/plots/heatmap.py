"""The similarity matrix as a picture: its size, its colours, and the drawing itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import matplotlib
import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.axes import Axes
from matplotlib.colors import Colormap
from PIL import Image

from localelastic.plots.ordering import Ordering
from localelastic.plots.pixels import block_mean, png
from localelastic.shapes import Square

Cells = Float[np.ndarray, "cells cells"]
"""A matrix as it is shown: in order, and small enough."""

CELLS = 512
"""More cells along a side than this are averaged: no screen or page shows them apart."""

CENTRAL = (1.0, 99.0)
"""The percentiles of the off-diagonal entries that the colours run between."""


@dataclass(frozen=True)
class ColourScale:
    """Which colour stands for which similarity.

    Args:
        low: the value of the first colour.
        high: the value of the last colour.
        below: whether some entries lie below ``low`` and take its colour.
        above: whether some entries lie above ``high`` and take its colour.
    """

    low: float
    high: float
    below: bool
    above: bool

    @property
    def centred(self) -> bool:
        """Whether the colours part at zero, because there are negative similarities."""
        return self.low < 0

    @property
    def colormap(self) -> Colormap:
        """A map that is read alike with and without colour-blindness."""
        return matplotlib.colormaps["RdBu_r" if self.centred else "viridis"]

    @property
    def extend(self) -> str:
        """What matplotlib's colour bar calls the two flags."""
        return {(0, 0): "neither", (1, 0): "min", (0, 1): "max", (1, 1): "both"}[
            self.below, self.above
        ]

    def palette(self, colours: int) -> UInt8[np.ndarray, "colours 3"]:
        """The map in so many even steps, as red, green and blue from 0 to 255."""
        steps: UInt8[np.ndarray, "colours 3"] = self.colormap(
            np.linspace(0, 1, colours), bytes=True
        )[:, :3]
        return steps


def shown_cells(similarity: Square, *, ordering: Ordering) -> Cells:
    """The matrix in the given order, averaged to at most ``CELLS`` cells along a side."""
    ordered = similarity[np.ix_(ordering.indices, ordering.indices)]
    return block_mean(ordered.astype(float, copy=False), block=-(-len(ordered) // CELLS))


def colour_scale(cells: Cells) -> ColourScale:
    """The colours for a matrix: robust, so that a few large entries do not hide the rest.

    They run between the percentiles ``CENTRAL`` of the off-diagonal cells. Where the lower end is
    negative they are symmetric about zero, so that no similarity is the neutral colour.
    """
    apart = cells[~np.eye(len(cells), dtype=bool)] if len(cells) > 1 else cells
    low, high = (float(end) for end in np.percentile(apart, CENTRAL))
    if low < 0:
        high = max(-low, high)
        low = -high
    elif low == high:
        low, high = low - 0.5, high + 0.5
    return ColourScale(low, high, bool(cells.min() < low), bool(cells.max() > high))


def heatmap_png(cells: Cells, *, scale: ColourScale) -> bytes:
    """The bare picture, one pixel per cell, as PNG with a palette."""
    share = np.clip((cells - scale.low) / (scale.high - scale.low), 0, 1)
    picture = Image.fromarray((share * 255).round().astype(np.uint8))
    picture.putpalette(scale.palette(256).tobytes())
    return png(picture)


def similarity_heatmap(
    axes: Axes,
    similarity: Square,
    *,
    ordering: Ordering,
    names: Mapping[int, str],
    meaning: str,
) -> Axes:
    """Draw a similarity matrix with its groups and a colour bar.

    Args:
        axes: where to draw.
        similarity: ``(n, n)``, in the order of the examples.
        ordering: the order to show them in; a line is drawn between groups.
        names: what to call each group.
        meaning: what an entry is, for the colour bar.

    Returns:
        The same axes.

    Example:
        >>> import numpy as np
        >>> from matplotlib.figure import Figure
        >>> from localelastic.plots import grouped
        >>> order = grouped(np.array([0, 1]), within=np.zeros(2, int), distance=np.zeros(2))
        >>> axes = Figure().subplots()
        >>> similarity_heatmap(axes, np.eye(2), ordering=order, names={0: "cat", 1: "dog"},
        ...                    meaning="kernelized similarity") is axes
        True
    """
    cells = shown_cells(similarity, ordering=ordering)
    scale = colour_scale(cells)
    n = len(similarity)
    image = axes.imshow(
        cells,
        cmap=scale.colormap,
        vmin=scale.low,
        vmax=scale.high,
        extent=(0, n, n, 0),
        interpolation="nearest",
    )
    for stop in ordering.stops[:-1]:
        axes.axhline(stop, color="black" if scale.centred else "white", linewidth=0.8)
        axes.axvline(stop, color="black" if scale.centred else "white", linewidth=0.8)
    middles = [(start + stop) / 2 for start, stop in pairwise((0, *ordering.stops))]
    # The matrix is symmetric: names along one side say it all, and cannot run into each other.
    axes.set_yticks(middles, [names[group] for group in ordering.groups], parse_math=False)
    axes.set_xticks([])
    axes.tick_params(length=0)
    bar = axes.inset_axes((1.04, 0.0, 0.05, 1.0))
    axes.figure.colorbar(image, cax=bar, extend=scale.extend, label=meaning)
    return axes
