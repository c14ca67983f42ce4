"""Lines over a logarithmic axis: errors as a width grows, numbers along training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes

from localelastic.plots.distance import plain
from localelastic.plots.effect import LIGHT

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#1a1d21", "#5b636d")
"""Told apart with and without colour-blindness."""
MARKERS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True, eq=False)
class Line:
    """One line.

    Args:
        label: in the legend.
        values: ``(seeds, places)``; the mean is drawn, and a band from least to most.
        style: 0, 1, ...: which colour and marker.
        dashed: drawn broken and without markers, such as a limit beside measured lines.
    """

    label: str
    values: Float[np.ndarray, "s p"]
    style: int
    dashed: bool = False


def draw_lines(
    axes: Axes,
    places: Float[np.ndarray, "p"],
    lines: Sequence[Line],
    *,
    title: str,
    across: str,
    up: str = "",
    logarithmic: bool = False,
) -> Axes:
    """Draw lines over a logarithmic horizontal axis.

    Args:
        axes: where to draw.
        places: along the axis, positive.
        lines: each with as many places.
        title: above.
        across: what the horizontal axis is.
        up: what the vertical one is.
        logarithmic: whether the vertical axis is so too; values that are not positive are left out.

    Returns:
        The same axes.
    """
    axes.set_xscale("log")
    if logarithmic:
        axes.set_yscale("log", nonpositive="mask")
    for line in lines:
        colour = PALETTE[line.style % len(PALETTE)]
        middle = line.values.mean(axis=0)
        if line.dashed:
            axes.plot(places, middle, "--", color=colour, linewidth=1, label=line.label)
            continue
        marker = MARKERS[line.style % len(MARKERS)]
        axes.plot(places, middle, marker=marker, ms=4, color=colour, lw=1.3, label=line.label)
        if len(line.values) > 1:
            low, high = line.values.min(axis=0), line.values.max(axis=0)
            axes.fill_between(places, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.set_title(title, fontsize=9, color=LIGHT.ink)
    axes.set_xlabel(across, fontsize=9, color=LIGHT.ink)
    axes.set_ylabel(up, fontsize=9, color=LIGHT.ink)
    plain(axes)
    return axes
