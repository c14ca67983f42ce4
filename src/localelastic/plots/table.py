"""A table as a picture: ours with its interval, and the published value, per row and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from localelastic.plots.distance import AUXILIARY, PRIMARY
from localelastic.plots.effect import LIGHT

_WIDEST = 56
"""Letters in a line of words beside a row."""


@dataclass(frozen=True)
class Dot:
    """One cell.

    Args:
        mean: ours.
        low: lower end of its interval, or ``None``.
        high: upper end.
        published: or ``None``.
    """

    mean: float
    low: float | None
    high: float | None
    published: float | None


def dot_table(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: dict[tuple[str, str], Dot],
    *,
    chance: dict[str, float],
    label: str,
) -> Figure:
    """Draw one panel per column, one line per row.

    Args:
        rows: from top to bottom; long ones are broken into lines.
        columns: from left to right.
        cells: by row and column; one that is missing stays empty.
        chance: of each column, a dashed line.
        label: what is measured, such as "clustering accuracy, %".

    Returns:
        A figure of its own.
    """
    words = [fill(row, _WIDEST) for row in rows]
    lines = [line for row in words for line in row.splitlines()]
    high = 0.3 + 0.14 * max(row.count("\n") for row in words)
    wide = max(2.6, 0.062 * max(map(len, lines)))
    size = (max(7.0, 1.5 * len(columns) + wide), high * len(rows) + 1.5)
    figure = Figure(figsize=size, layout="constrained")
    panels = np.atleast_1d(figure.subplots(1, len(columns), sharey=True, sharex=True))
    places = np.arange(len(rows))[::-1]
    for axes, column in zip(panels, columns, strict=True):
        if column in chance:
            axes.axvline(chance[column], color=LIGHT.soft, linestyle="--", linewidth=0.9)
        for place, row in zip(places, rows, strict=True):
            dot = cells.get((row, column))
            if dot is None:
                continue
            if dot.published is not None:
                axes.plot(
                    dot.published, place, "D", markersize=6, mfc="none", color=AUXILIARY, zorder=3
                )
            if dot.low is not None and dot.high is not None:
                axes.plot([dot.low, dot.high], [place, place], color=PRIMARY, linewidth=1.6)
            axes.plot(dot.mean, place, "o", markersize=4.5, color=PRIMARY, zorder=4)
        axes.set_title(column, fontsize=9, color=LIGHT.ink)
        axes.grid(axis="y", color="#e6e9ec", linewidth=0.7)
        axes.set_axisbelow(True)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(labelsize=8, colors=LIGHT.soft, left=False)
    # Student's intervals of few seeds reach far, past what an accuracy can be: they are cut off.
    shown_values = [value for dot in cells.values() for value in (dot.mean, dot.published)]
    known = [value for value in shown_values if value is not None]
    if known:
        panels[0].set_xlim(min(known) - 5, max(known) + 5)
    panels[0].set_yticks(places, words, fontsize=8, color=LIGHT.ink)
    panels[0].set_ylim(-0.7, len(rows) - 0.3)
    figure.supxlabel(label, fontsize=9, color=LIGHT.ink)
    shown = [
        Line2D([], [], color=PRIMARY, marker="o", markersize=4.5, label="ours, 95 % interval"),
        Line2D([], [], color=AUXILIARY, marker="D", mfc="none", linestyle="", label="published"),
        Line2D([], [], color=LIGHT.soft, linestyle="--", label="chance"),
    ]
    figure.legend(handles=shown, loc="outside upper right", ncols=3, fontsize=8, frameon=False)
    return figure
