"""Steps of a classifier on photographs: figures 5 and 6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from localelastic.plots.effect import LIGHT
from localelastic.plots.photos import (
    DISSIMILAR,
    SIMILAR,
    THIRD,
    against_distance,
    photo,
    photo_bars,
    spread,
    sweep,
)


def photo_step_figure(series: Mapping[str, np.ndarray]) -> Figure:
    """The photograph stepped on, and the change of others.

    Args:
        series: of figure 5's record.
    """
    shown = series["shown"]
    figure = Figure(figsize=(9.5, 1.1 + 0.52 * len(shown)), layout="constrained")
    left, axes = figure.subplots(1, 2, width_ratios=(1, 2.6))
    kl = series["self_kl"][0]
    title = f"step on: {series['stepped_on_name'][0]}\nown KL {kl:.2g}"
    photo(left, series["stepped_on"][0], title=title)
    colours = [SIMILAR if series["similar"][i] else DISSIMILAR for i in shown]
    photo_bars(
        axes,
        series["photos"],
        [str(series["names"][i]) for i in shown],
        {"": (series["kl"][0, shown], colours)},
        beside=[f"{series['distance'][0, i]:.0f}" for i in shown],
        label=f"KL(before || after), nats, step size {series['lr'][0]:g}",
    )
    axes.set_title("distance", fontsize=8, loc="right", color=LIGHT.soft)
    return figure


def photo_averages_figure(series: Mapping[str, np.ndarray]) -> Figure:
    """Averages over steps, changes of pairs against distance, and other step sizes.

    Args:
        series: of figure 5's record.
    """
    similar, kl, distance = series["similar"], series["kl"], series["distance"]
    figure = Figure(figsize=(11, 3.5), layout="constrained")
    averages, pairs, sizes = figure.subplots(1, 3)
    label = "KL(before || after), nats"
    means = kl.mean(0)
    spread(
        averages,
        {
            "similar": (means[similar], SIMILAR),
            "dissimilar": (means[~similar], DISSIMILAR),
        },
        label=f"mean {label}",
    )
    groups: dict[str, tuple[Float[np.ndarray, "p"], Float[np.ndarray, "p"], str]] = {
        "similar": (distance[:, similar].ravel(), kl[:, similar].ravel(), SIMILAR),
        "dissimilar": (distance[:, ~similar].ravel(), kl[:, ~similar].ravel(), DISSIMILAR),
    }
    against_distance(pairs, groups, label=label)
    names = ("stepped on", "similar", "dissimilar")
    colours = (LIGHT.ink, SIMILAR, DISSIMILAR)
    curves = {
        name: (values, colour)
        for name, values, colour in zip(names, series["sweep"], colours, strict=True)
    }
    sweep(sizes, series["lrs"], curves, chosen=float(series["lr"][0]), label=label)
    return figure


def mini_batch_figure(
    series: Mapping[str, np.ndarray], ways: Sequence[str], tests: Sequence[str]
) -> Figure:
    """The photographs of a mini-batch, and the change of others.

    Args:
        series: of figure 6's record.
        ways: to step: on both, on the first and on the second.
        tests: kinds of test photographs: like the first, like the second, like neither.
    """
    count = len(series["names"])
    figure = Figure(figsize=(12.5, 1.2 + 0.62 * count), layout="constrained")
    parts: Any = figure.subfigures(1, 3, width_ratios=(1, 3.4, 1.7))
    left, middle, right = parts
    for axes, pixels, name in zip(
        left.subplots(2, 1), series["stepped_on"], series["stepped_on_names"], strict=True
    ):
        photo(axes, pixels, title=str(name))
    axes = middle.subplots()
    colours = (LIGHT.ink, SIMILAR, DISSIMILAR)
    photo_bars(
        axes,
        series["photos"],
        [str(name) for name in series["names"]],
        {
            way: (values, [colour] * count)
            for way, values, colour in zip(ways, series["kl"], colours, strict=True)
        },
        beside=[""] * count,
        label=f"KL(before || after), nats, step size {series['lr'][0]:g}",
    )
    handles = [
        axes.barh([0], [0], color=colour, label=way)
        for way, colour in zip(ways, colours, strict=True)
    ]
    axes.legend(
        handles=handles,
        fontsize=8,
        frameon=False,
        ncols=3,
        loc="lower center",
        bbox_to_anchor=(0.4, 1.0),
    )
    curves = {
        test: (values, colour)
        for test, values, colour in zip(
            tests, series["sweep"], (SIMILAR, DISSIMILAR, THIRD), strict=True
        )
    }
    sweep(
        right.subplots(),
        series["lrs"],
        curves,
        chosen=float(series["lr"][0]),
        label="KL(before || after), nats",
    )
    return figure
