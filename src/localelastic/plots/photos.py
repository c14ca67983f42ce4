"""Photographs with what a step did to them, and the same changes against other things."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.axes import Axes

from localelastic.plots.distance import plain
from localelastic.plots.effect import LIGHT

SIMILAR, DISSIMILAR, THIRD = "#0072b2", "#d55e00", "#009e73"

Photo = UInt8[np.ndarray, "s s 3"]
Photos = UInt8[np.ndarray, "m s s 3"]


def photo(axes: Axes, pixels: Photo, *, title: str) -> Axes:
    """Draw one photograph."""
    axes.imshow(pixels)
    axes.set_title(title, fontsize=9, color=LIGHT.ink)
    axes.set_axis_off()
    return axes


def photo_bars(
    axes: Axes,
    photos: Photos,
    names: Sequence[str],
    bars: Mapping[str, tuple[Float[np.ndarray, "m"], Sequence[str]]],
    *,
    beside: Sequence[str],
    label: str,
) -> Axes:
    """Draw a row for each photograph: the picture, its name, a bar for each kind of step.

    Args:
        axes: where to draw; wide enough for the names at its left.
        photos: from top to bottom.
        names: of them.
        bars: values above zero and their colours, by kind of step; the first stands uppermost.
        beside: a text at the right of each row.
        label: of the values.
    """
    rows, height = np.arange(len(photos)), 0.72 / len(bars)
    values = np.concatenate([value for value, _ in bars.values()])
    shown = values[values > 0]
    low = 10.0 ** np.floor(np.log10(shown.min()) - 0.2) if len(shown) else 1e-6
    high = shown.max() if len(shown) else 1.0
    for i, (value, colours) in enumerate(bars.values()):
        middle = rows + (i - (len(bars) - 1) / 2) * height
        drawn = np.maximum(value, low)
        axes.barh(middle, drawn, 0.88 * height, color=list(colours))
        for y, x, v in zip(middle, drawn, value, strict=True):
            axes.annotate(
                f"{v:.2g}", (x, y), (3, 0), textcoords="offset points", va="center", fontsize=7
            )
    axes.set_xscale("log")
    axes.set_xlim(low, high * (high / low) ** 0.12)
    axes.set_ylim(len(photos) - 0.5, -0.5)
    axes.set_yticks([])
    place = axes.get_yaxis_transform()
    for row, (pixels, name, text) in enumerate(zip(photos, names, beside, strict=True)):
        inset = axes.inset_axes((-0.115, row - 0.46, 0.105, 0.92), transform=place)
        inset.imshow(pixels, extent=(0, 1, 0, 1))
        inset.set_anchor("E")
        inset.set_axis_off()
        style: dict[str, Any] = {"transform": place, "va": "center", "fontsize": 8}
        axes.text(-0.13, row, fill(name, 16), ha="right", color=LIGHT.ink, **style)
        axes.text(1.01, row, text, color=LIGHT.soft, **style)
    axes.set_xlabel(label, fontsize=9, color=LIGHT.ink)
    plain(axes)
    return axes


def spread(
    axes: Axes, groups: Mapping[str, tuple[Float[np.ndarray, "m"], str]], *, label: str
) -> Axes:
    """Draw every value of each group on a logarithmic axis, with a line at the mean.

    Args:
        axes: where to draw.
        groups: values and colour, by name.
        label: of the values.
    """
    for i, (values, colour) in enumerate(groups.values()):
        shift = np.linspace(-0.18, 0.18, len(values)) if len(values) > 1 else np.zeros(1)
        marker = "o" if i == 0 else "^"
        axes.scatter(
            i + shift, np.sort(values), s=24, color=colour, marker=marker, alpha=0.75, linewidth=0
        )
        axes.hlines(values.mean(), i - 0.3, i + 0.3, color=LIGHT.ink, linewidth=1.2)
    axes.set_yscale("log")
    axes.set_xticks(range(len(groups)), list(groups))
    axes.set_xlim(-0.6, len(groups) - 0.4)
    axes.set_ylabel(label, fontsize=9, color=LIGHT.ink)
    plain(axes)
    axes.tick_params(axis="x", labelcolor=LIGHT.ink)
    return axes


def against_distance(
    axes: Axes,
    groups: Mapping[str, tuple[Float[np.ndarray, "p"], Float[np.ndarray, "p"], str]],
    *,
    label: str,
) -> Axes:
    """Draw changes of pairs against their distance.

    Args:
        axes: where to draw.
        groups: distances, values and colour, by name; each has its own marker.
        label: of the values.
    """
    for (distances, values, colour), marker in zip(groups.values(), "o^sD", strict=False):
        axes.scatter(distances, values, s=22, color=colour, marker=marker, alpha=0.7, linewidth=0)
    axes.set_yscale("log")
    axes.set_xlabel("Euclidean distance of the inputs", fontsize=9, color=LIGHT.ink)
    axes.set_ylabel(label, fontsize=9, color=LIGHT.ink)
    plain(axes)
    return axes


def sweep(
    axes: Axes,
    lrs: Float[np.ndarray, "s"],
    curves: Mapping[str, tuple[Float[np.ndarray, "s"], str]],
    *,
    chosen: float,
    label: str,
) -> Axes:
    """Draw changes against the step size, a dotted line of slope two, and the one that was taken.

    Args:
        axes: where to draw.
        lrs: step sizes.
        curves: values and colour, by name; NaN where a step diverged.
        chosen: the step size taken elsewhere.
        label: of the values.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    lowest = np.inf
    for (name, (values, colour)), marker in zip(curves.items(), "so^D", strict=False):
        axes.plot(lrs, values, marker=marker, ms=4.5, color=colour, linewidth=1.3, label=name)
        lowest = min(lowest, values[0] if values[0] > 0 else np.inf)
    if np.isfinite(lowest):
        guide = 0.3 * lowest * (lrs / lrs[0]) ** 2
        axes.plot(lrs, guide, ":", color=LIGHT.soft, linewidth=1.2, label="square of the step size")
    axes.axvline(chosen, color=LIGHT.soft, linewidth=0.8, linestyle=(0, (5, 3)))
    axes.set_xlabel("step size (dashed: taken)", fontsize=9, color=LIGHT.ink)
    axes.set_ylabel(label, fontsize=9, color=LIGHT.ink)
    axes.legend(fontsize=7, frameon=False, loc="lower right")
    plain(axes)
    return axes
