"""Numbers along training, from initialisation to fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from localelastic.plots.distance import plain
from localelastic.plots.effect import LIGHT
from localelastic.plots.lines import MARKERS, PALETTE

_START = 0.5
"""Where step 0 is drawn on the logarithmic axis."""


def over_training_figure(
    series: Mapping[str, np.ndarray], torus: Sequence[str], digits: Sequence[str]
) -> Figure:
    """Three rows: torus; similarities of digits; an unstable step size beside a stable one.

    Args:
        series: ``name/key``, ``(seeds, stops)``.
        torus: names of the trainings there.
        digits: two-layer at a stable step, at the published step, and the CNN; what is missing
            diverged and is left out.
    """
    figure = Figure(figsize=(11, 9.2), layout="constrained")
    grid = figure.subplots(3, 3)
    shown = [name for name in digits if f"{name}/step" in series]
    for axes, key, title in (
        (grid[0, 0], "loss", "torus: loss"),
        (grid[0, 1], "mean", "torus: mean relative similarity"),
    ):
        for at, name in enumerate(torus):
            _line(axes, series, name, key, at, label=name.removeprefix("torus, "))
        _dress(axes, title)
    grid[0, 0].set_ylim(bottom=0)
    grid[0, 1].set_ylim(0, 1)
    for at, name in enumerate(torus):
        kind = name.removeprefix("torus, ")
        _line(grid[0, 2], series, name, "signed", at, label=f"{kind}, signed")
        _line(grid[0, 2], series, name, "unsigned", at, label=f"{kind}, unsigned", style="--")
    _dress(grid[0, 2], "torus: Pearson with distance")
    grid[0, 2].set_ylim(-1.05, 0.05)
    for axes, kind, title in (
        (grid[1, 0], "normalized", "digits: normalized kernel"),
        (grid[1, 1], "relative", "digits: relative similarity"),
    ):
        for name in shown:
            at = digits.index(name)
            _line(axes, series, name, f"{kind}, within", at, label=_short(name))
            _line(axes, series, name, f"{kind}, between", at, style="--")
        _dress(axes, f"{title}\nwithin classes solid, between dashed")
        axes.set_ylim(0, 1.05)
    for name in shown:
        at = digits.index(name)
        _line(grid[1, 2], series, name, "normalized, accuracy", at, label=_short(name))
        _line(grid[1, 2], series, name, "relative, accuracy", at, style="--")
    chance = float(np.mean(series[f"{shown[0]}/chance"]))
    grid[1, 2].axhline(chance, color=LIGHT.ink, linestyle=":", linewidth=1)
    _dress(grid[1, 2], "digits: accuracy of clusters, chance dotted\nkernel solid, relative dashed")
    grid[1, 2].set_ylim(0.45, 1)
    for axes, key, title in (
        (grid[2, 0], "loss", "digits, two-layer: loss"),
        (grid[2, 1], "alive", "digits, two-layer: share of units alive"),
        (grid[2, 2], "step size over limit", "digits, two-layer: step size over its limit"),
    ):
        for name in shown:
            if f"{name}/alive" in series:
                _line(axes, series, name, key, digits.index(name), label=_short(name))
        _dress(axes, title)
    grid[2, 0].set_yscale("log")
    grid[2, 1].set_ylim(0, 1.05)
    grid[2, 2].set_yscale("log")
    grid[2, 2].axhline(1, color=LIGHT.ink, linestyle="--", linewidth=0.8)
    for axes in grid[2]:
        axes.set_xlabel("steps", fontsize=9, color=LIGHT.ink)
    for axes in (grid[0, 1], grid[0, 2], grid[1, 0], grid[1, 2], grid[2, 0]):
        place = "upper right" if axes is grid[1, 2] else "best"
        axes.legend(frameon=False, fontsize=8, loc=place)
    return figure


def _short(name: str) -> str:
    return name.removeprefix("digits, ").replace("two-layer ReLU", "two-layer")


def _line(
    axes: Axes,
    series: Mapping[str, np.ndarray],
    name: str,
    key: str,
    at: int,
    *,
    label: str | None = None,
    style: str = "-",
) -> None:
    steps = np.maximum(series[f"{name}/step"][0], _START)
    values = np.ma.masked_invalid(series[f"{name}/{key}"])
    colour = PALETTE[at]
    axes.plot(
        steps,
        values.mean(axis=0),
        style,
        marker=MARKERS[at],
        ms=3.5,
        color=colour,
        linewidth=1.3,
        label=label,
    )
    if len(values) > 1 and style == "-":
        axes.fill_between(
            steps, values.min(axis=0), values.max(axis=0), color=colour, alpha=0.13, linewidth=0
        )


def _dress(axes: Axes, title: str) -> None:
    axes.set_xscale("log")
    powers = [10.0**power for power in range(7) if 10**power <= 1.5 * axes.dataLim.x1]
    axes.set_xticks([_START, *powers], ["0", *(f"{power:,.0f}" for power in powers)])
    axes.minorticks_off()
    axes.set_title(title, fontsize=9, color=LIGHT.ink)
    plain(axes)
