"""One step as two pictures: exact change against first order, and all changes by size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

Probes = Float[np.ndarray, "m"]


@dataclass(frozen=True)
class Ink:
    """Colours that are told apart with and without colour-blindness.

    Args:
        ink: of words, ticks and the diagonal.
        soft: of frames and the noise floor.
        along: of probes that moved the way of the example stepped on.
        against: of those that moved the other way.
        hidden: of those that moved by no more than noise.
    """

    ink: str
    soft: str
    along: str
    against: str
    hidden: str


LIGHT = Ink("#1a1d21", "#5b636d", "#0072b2", "#d55e00", "#8a929b")
DARK = Ink("#e8eaed", "#9aa3ad", "#62b5d9", "#f08a54", "#737b85")


def first_order_scatter(
    axes: Axes,
    moved: Probes,
    first_order: Probes,
    *,
    noise_floor: Probes,
    against: Bool[np.ndarray, "m"],
    meaning: str,
    ink: Ink = LIGHT,
) -> Axes:
    """Draw the exact change of each probe against what the first order says of it.

    Args:
        axes: where to draw.
        moved: the exact change.
        first_order: its first order.
        noise_floor: what is up to this is drawn as noise; a band marks its median.
        against: the probes that moved against the example stepped on.
        meaning: what a change is, such as "change of the log-probability".
        ink: the colours.

    Returns:
        The same axes.

    Example:
        >>> from matplotlib.figure import Figure
        >>> ones = np.ones(3)
        >>> axes = Figure().subplots()
        >>> first_order_scatter(axes, ones, ones, noise_floor=0 * ones, against=ones < 0,
        ...                     meaning="change") is axes
        True
    """
    middle = float(np.median(noise_floor))
    axes.axhspan(-middle, middle, color=ink.hidden, alpha=0.3, linewidth=0)
    axes.axline((0, 0), slope=1, color=ink.ink, linewidth=0.9, zorder=1)
    hidden = np.abs(moved) <= noise_floor
    for mask, colour, marker in _kinds(hidden, against, ink):
        axes.scatter(
            first_order[mask],
            moved[mask],
            s=_area(len(moved)),
            color=colour,
            marker=marker,
            alpha=0.7,
            linewidths=0,
            zorder=2,
        )
    _dress(axes, ink)
    axes.set_xlabel("first order", color=ink.ink)
    axes.set_ylabel(meaning, color=ink.ink)
    return axes


def sorted_sizes(
    axes: Axes,
    size: Probes,
    *,
    noise_floor: Probes,
    against: Bool[np.ndarray, "m"],
    self_size: float,
    meaning: str,
    ink: Ink = LIGHT,
) -> Axes:
    """Draw the size of every change, the largest first, with the noise floor of each.

    Probes that did not move at all have no place on the logarithmic axis and are left out.

    Args:
        axes: where to draw.
        size: of each change.
        noise_floor: of each probe.
        against: the probes that moved against the example stepped on.
        self_size: of the example stepped on, a dashed line.
        meaning: what a size is, such as "size of the change".
        ink: the colours.

    Returns:
        The same axes.

    Example:
        >>> from matplotlib.figure import Figure
        >>> ones = np.ones(3)
        >>> axes = Figure().subplots()
        >>> sorted_sizes(axes, ones, noise_floor=0 * ones, against=ones < 0, self_size=2.0,
        ...              meaning="size") is axes
        True
    """
    order = np.argsort(-size, kind="stable")
    rank = np.arange(1, len(size) + 1)
    size, floor, against = size[order], noise_floor[order], against[order]
    seen, hidden = size > 0, size <= floor
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    if (floor > 0).any():
        dot = _area(len(size)) ** 0.5 / 2.2
        axes.plot(rank, np.where(floor > 0, floor, np.nan), ".", ms=dot, color=ink.soft, alpha=0.7)
    for mask, colour, marker in _kinds(hidden, against, ink):
        axes.scatter(
            rank[mask & seen],
            size[mask & seen],
            s=_area(len(size)),
            color=colour,
            marker=marker,
            alpha=0.8,
            linewidths=0,
            zorder=2,
        )
    if self_size > 0:
        axes.axhline(self_size, color=ink.ink, linewidth=0.9, linestyle=(0, (5, 3)))
    _dress(axes, ink)
    axes.set_xlabel("probes, the one that moved most first", color=ink.ink)
    axes.set_ylabel(meaning, color=ink.ink)
    return axes


def _kinds(
    hidden: Bool[np.ndarray, "m"], against: Bool[np.ndarray, "m"], ink: Ink
) -> tuple[tuple[Bool[np.ndarray, "m"], str, str], ...]:
    """Each kind of probe with its colour and its marker, what matters most drawn last."""
    return (
        (hidden, ink.hidden, "s"),
        (~hidden & ~against, ink.along, "o"),
        (~hidden & against, ink.against, "v"),
    )


def _area(count: int) -> float:
    return 26.0 if count <= 100 else 14.0 if count <= 1000 else 6.0


def _dress(axes: Axes, ink: Ink) -> None:
    axes.set_facecolor("none")
    for name, spine in axes.spines.items():
        spine.set_visible(name in ("left", "bottom"))
        spine.set_color(ink.soft)
    axes.tick_params(which="both", colors=ink.soft, labelcolor=ink.ink)
    for text in (axes.xaxis.get_offset_text(), axes.yaxis.get_offset_text()):
        text.set_color(ink.ink)
    axes.grid(True, color=ink.soft, alpha=0.18, linewidth=0.6)
    axes.set_axisbelow(True)
