"""Similarity against distance, and the sets that the distances are taken on."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes

from localelastic.plots.effect import LIGHT

Pairs = Float[np.ndarray, "p"]

PRIMARY, AUXILIARY, FOLDED = "#0072b2", "#d55e00", "#d55e00"


def distance_scatter(
    axes: Axes, distances: Pairs, signed: Pairs, *, folded: bool, title: str, label: str = ""
) -> Axes:
    """Draw the relative change of each pair against their distance.

    Args:
        axes: where to draw.
        distances: of pairs.
        signed: the signed ratio of changes.
        folded: draw absolute values; pairs whose sign is lost in them have another colour and form.
        title: above, such as the network and its correlation.
        label: of the distance; none if empty.

    Returns:
        The same axes.
    """
    negative = signed < 0
    values = np.abs(signed) if folded else signed
    for mask, colour, marker in ((~negative, PRIMARY, "o"), (negative, FOLDED, "^")):
        axes.scatter(
            distances[mask], values[mask], s=7, color=colour, marker=marker, alpha=0.45, linewidth=0
        )
    if not folded:
        axes.axhline(0, color=LIGHT.soft, linewidth=0.8, zorder=0)
    axes.set_title(title, fontsize=9, color=LIGHT.ink)
    axes.set_xlabel(label, fontsize=9, color=LIGHT.ink)
    axes.set_xlim(left=0)
    plain(axes)
    return axes


def set_view(
    axes: Axes, points: Float[np.ndarray, "n d"], primary: Bool[np.ndarray, "n"], *, title: str
) -> Axes:
    """Draw a set in the two or three dimensions it lies in.

    Args:
        axes: in three dimensions if the points are.
        points: of both sides.
        primary: which are primary (circles); the others are auxiliary (triangles).
        title: its name.
    """
    for mask, colour, marker in ((primary, PRIMARY, "o"), (~primary, AUXILIARY, "^")):
        style: dict[str, Any] = {"s": 9, "color": colour, "marker": marker, "linewidth": 0}
        axes.scatter(*points[mask].T, **style)
    axes.set_title(title, fontsize=9, color=LIGHT.ink)
    axes.tick_params(labelsize=6, colors=LIGHT.soft, pad=0)
    if hasattr(axes, "set_zlim"):
        spans = np.ptp(points, axis=0)
        axes.set_box_aspect(np.maximum(spans, 0.35 * spans.max()))
        axes.locator_params(nbins=4)
    else:
        plain(axes)
    return axes


def plain(axes: Axes) -> None:
    """Two spines, small ticks."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(LIGHT.soft)
    axes.tick_params(which="both", labelsize=8, colors=LIGHT.soft)
