"""One step on two classifiers: where the plane moved, and the prediction along a circle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from localelastic.plots.distance import plain
from localelastic.plots.effect import LIGHT

_UP, _DOWN = "#0072b2", "#d55e00"
_CHANGE = LinearSegmentedColormap.from_list("change", [_DOWN, "#ffffff", _UP])
_MINUS = "\u2212"


def one_step_figure(
    series: Mapping[str, np.ndarray],
    kinds: Sequence[str],
    *,
    at: float,
    far: float,
    radius: float,
) -> Figure:
    """One column per classifier.

    Args:
        series: of the record: ``around``, ``side`` and for each kind ``points``, ``targets``,
            ``before``, ``change``, ``first_order``, ``marked`` and ``plane``.
        kinds: of classifiers, in words.
        at: where on the circle the step was taken, in degrees.
        far: the far point.
        radius: of the circle.
    """
    figure = Figure(figsize=(9.2, 8.2), layout="constrained")
    grid = figure.subplots(2, len(kinds), height_ratios=[1.25, 1], squeeze=False, sharey="row")
    reach = max(abs(series[f"{kind}/marked"][1, 0]) for kind in kinds)
    for column, kind in enumerate(kinds):
        own = {
            name: series[f"{kind}/{name}"]
            for name in (
                "points",
                "targets",
                "before",
                "change",
                "first_order",
                "marked",
                "plane",
            )
        }
        image = _plane(grid[0, column], series["side"], own, reach, (at, far), radius)
        title = "linear classifier" if kind == "linear" else f"two-layer {kind} network"
        grid[0, column].set_title(title, fontsize=11, color=LIGHT.ink)
        _along(grid[1, column], series["around"], own, (at, far))
    grid[0, 0].legend(fontsize=8, frameon=False, loc="lower left", ncols=2)
    grid[1, 0].set_ylabel("prediction along the circle", fontsize=9)
    grid[1, 0].legend(fontsize=8, frameon=False, loc="upper left")
    bar = figure.colorbar(image, ax=grid[0, :], shrink=0.75, pad=0.01)
    bar.set_label("change of the prediction by the step", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    bar.outline.set_visible(False)
    return figure


def _plane(
    axes: Axes,
    side: np.ndarray,
    own: Mapping[str, np.ndarray],
    reach: float,
    angles: tuple[float, float],
    radius: float,
) -> AxesImage:
    before, change = own["plane"]
    ends = (side[0], side[-1], side[0], side[-1])
    image = axes.imshow(
        change, origin="lower", extent=ends, cmap=_CHANGE, vmin=-reach, vmax=reach, alpha=0.8
    )
    axes.contour(side, side, before, [0], colors=LIGHT.ink, linewidths=1.4)
    axes.contour(
        side, side, before + change, [0], colors=LIGHT.ink, linewidths=1.4, linestyles="--"
    )
    for target, colour, marker in ((1, _UP, "o"), (-1, _DOWN, "^")):
        points = own["points"][own["targets"] == target].T
        word = "class +1" if target > 0 else f"class {_MINUS}1"
        style: dict[str, Any] = {"edgecolor": "white", "linewidth": 0.6, "label": word}
        axes.scatter(points[0], points[1], s=26, color=colour, marker=marker, **style)
    axes.plot([], [], color=LIGHT.ink, linewidth=1.4, label="border before")
    axes.plot([], [], "--", color=LIGHT.ink, linewidth=1.4, label="border after")
    for angle, word, marker, size in zip(angles, ("x", "x'"), "*D", (170, 55), strict=True):
        right, up = radius * np.cos(np.deg2rad(angle)), radius * np.sin(np.deg2rad(angle))
        axes.scatter(right, up, s=size, color=LIGHT.ink, marker=marker, zorder=5)
        axes.text(
            1.28 * right, 1.28 * up, word, fontsize=13, weight="bold", ha="center", va="center"
        )
    axes.set_ylim(side[0] - 1.1, side[-1])  # room for the legend
    axes.set_aspect("equal")
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    return image


def _along(
    axes: Axes,
    around: np.ndarray,
    own: Mapping[str, np.ndarray],
    angles: tuple[float, float],
) -> None:
    before, after = own["before"], own["before"] + own["change"]
    axes.axhline(0, color=LIGHT.soft, linewidth=0.7, zorder=0)
    axes.fill_between(around, before, after, color=_UP, alpha=0.12, linewidth=0)
    axes.plot(around, before, color=LIGHT.soft, linewidth=1.5, label="before")
    axes.plot(around, after, color=_UP, linewidth=2, label="after the step")
    axes.plot(
        around, before + own["first_order"], ":", color=_DOWN, linewidth=1.8, label="first order"
    )
    for place, (angle, word) in enumerate(zip(angles, ("x", "x'"), strict=True)):
        start, moved = own["marked"][:, place]
        axes.annotate(
            "",
            (angle, start + moved),
            (angle, start),
            arrowprops={"arrowstyle": "-|>", "color": LIGHT.ink, "linewidth": 1.4},
        )
        axes.plot(angle, start, "*D"[place], color=LIGHT.ink, ms=(11, 6)[place], zorder=5)
        said = f"{word}: {moved:+.2f}".replace("-", _MINUS)
        above = place == 1
        axes.annotate(
            said,
            (angle, max(start, start + moved) if above else min(start, start + moved)),
            (0, 10 if above else -10),
            textcoords="offset points",
            fontsize=11,
            weight="bold",
            ha="center",
            va="bottom" if above else "top",
            bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.75, "pad": 1},
        )
    axes.margins(y=0.22)
    axes.set_xlim(-180, 180)
    axes.set_xticks([-180, -90, 0, 90, 180], [f"{_MINUS}180°", f"{_MINUS}90°", "0°", "90°", "180°"])
    axes.set_xlabel("angle on the circle", fontsize=9, color=LIGHT.ink)
    plain(axes)
