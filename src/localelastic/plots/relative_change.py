"""Means of relative changes, and equation (4) against real steps, in one figure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from localelastic.analysis import Interval
from localelastic.plots.distance import plain
from localelastic.plots.effect import LIGHT
from localelastic.plots.lines import PALETTE, Line, draw_lines

_NETWORKS = (("assumed", "network of equation (4)"), ("real", "network of the paper"))


def relative_change_figure(
    bars: Mapping[tuple[str, str], Interval],
    printed: Mapping[str, float],
    series: Mapping[str, np.ndarray],
) -> Figure:
    """Means above, the error of equation (4) below.

    Args:
        bars: mean relative similarity by kind of network and moment.
        printed: the published mean of each kind.
        series: of the record: ``widths``, ``shares`` and, for ``assumed`` and ``real``, ``said``,
            ``found``, ``largest`` and ``hidden share``.
    """
    figure = Figure(figsize=(10.5, 6.6), layout="constrained")
    grid = figure.subplots(2, 3)
    _bars(grid[0, 0], bars, printed)
    for axes, (name, words) in zip(grid[0, 1:], _NETWORKS, strict=True):
        _said_against_found(axes, series[f"{name}/said"], series[f"{name}/found"], words)
    grid[0, 1].set_ylabel("measured ratio of changes", fontsize=9)
    widths, shares = series["widths"].astype(float), series["shares"]
    for axes, (name, words) in zip(grid[1, :2], _NETWORKS, strict=True):
        lines = [
            Line(f"{share:g}".replace("-", "\u2212"), series[f"{name}/largest"][None, :, at], at)
            for at, share in enumerate(shares)
        ]
        draw_lines(
            axes,
            widths,
            lines,
            title=f"{words}:\nlargest difference from equation (4)",
            across="hidden units",
            logarithmic=True,
        )
        drawn = series[f"{name}/largest"]
        lowest = drawn[drawn > 0].min(initial=1)  # double precision ends the smallest steps' lines
        axes.set_ylim(min(1e-10, lowest / 10), 30)
        axes.legend(
            frameon=False,
            fontsize=8,
            ncols=3,
            loc="lower left" if name == "real" else "upper right",
            title="step over the stability limit"
            + (": all alike" if name == "real" and _alike(series["real/largest"]) else ""),
            title_fontsize=8,
        )
    draw_lines(
        grid[1, 2],
        widths,
        [
            Line(words, series[f"{name}/hidden share"][None], at)
            for at, (name, words) in enumerate(_NETWORKS)
        ],
        title="share of the change at x that\ngoes through the hidden weights",
        across="hidden units",
        logarithmic=True,
    )
    grid[1, 2].set_ylim(top=5)
    grid[1, 2].legend(frameon=False, fontsize=8, loc="lower left")
    return figure


def _alike(values: Float[np.ndarray, "w p"]) -> bool:
    """Whether lines lie on each other as drawn."""
    return bool((np.ptp(values, axis=1) < 0.02 * values.max(axis=1)).all())


def _bars(
    axes: Axes, bars: Mapping[tuple[str, str], Interval], printed: Mapping[str, float]
) -> None:
    moments = list(dict.fromkeys(moment for _, moment in bars))
    for side, (kind, value) in enumerate(printed.items()):
        colour = PALETTE[side]
        for place, moment in enumerate(moments):
            found = bars.get((kind, moment))
            if found is None:
                continue
            x = place + (side - 0.5) * 0.36
            axes.bar(x, found.mean, 0.32, color=colour, label=kind if place == 0 else None)
            if found.low is not None and found.high is not None:
                axes.plot([x, x], [found.low, found.high], color=LIGHT.ink, linewidth=1)
            axes.text(x, 0.02, f"{found.mean:.2f}", color="white", ha="center", fontsize=8)
        axes.axhline(value, color=colour, linestyle="--", linewidth=1)
        words = f"published\n{kind} {value:.2f}"
        axes.text(len(moments) - 0.5, value, words, color=colour, va="bottom", fontsize=8)
    axes.set_xticks(range(len(moments)), [m.replace(", ", ",\n") for m in moments], fontsize=8)
    axes.set_xlim(-0.5, len(moments) + 0.2)
    axes.set_ylim(0, 0.95)
    axes.set_title("mean relative similarity", fontsize=9, color=LIGHT.ink)
    axes.legend(frameon=False, fontsize=8, loc="upper left", ncols=2)
    plain(axes)


def _said_against_found(axes: Axes, said: np.ndarray, found: np.ndarray, words: str) -> None:
    apart = ~np.eye(len(said), dtype=bool)
    axes.axline((0, 0), slope=1, color=LIGHT.ink, linewidth=0.8, zorder=1)
    style: dict[str, Any] = {"s": 7, "color": PALETTE[0], "alpha": 0.45, "linewidth": 0}
    axes.scatter(said[apart], found[apart], **style)
    axes.set_title(f"{words}:\nreal steps against equation (4)", fontsize=9, color=LIGHT.ink)
    axes.set_xlabel("ratio by equation (4)", fontsize=9, color=LIGHT.ink)
    plain(axes)
