"""The similarity matrix of a record, prepared for the page."""

from __future__ import annotations

from dataclasses import dataclass

from localelastic.plots import (
    Cells,
    ColourScale,
    Ordering,
    colour_scale,
    grouped,
    heatmap_png,
    shown_cells,
)
from localelastic.report.inline import data_uri
from localelastic.report.records import ClusterRecord
from localelastic.report.telling import class_codes, class_order, misplaced, own_distance

NARROW = 300
"""The width in pixels of a matrix on a phone: names that fit there fit everywhere."""


@dataclass(frozen=True)
class Segment:
    """A group along the side of a matrix, in percent of the side.

    ``key`` is what it is called there: its name, or a letter for names that are too long.
    """

    key: str
    name: str
    start: float
    width: float

    @property
    def label(self) -> str:
        """The key, where there is room for it."""
        return self.key if _room(self.key, self.width) else ""


@dataclass(frozen=True)
class Map:
    """A similarity matrix in one order."""

    title: str
    source: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Maps:
    """The similarity matrix in every order shown, and what its colours mean."""

    maps: tuple[Map, ...]
    block: int
    scale: ColourScale
    colours: tuple[str, ...]
    pixelated: bool


def maps(record: ClusterRecord) -> Maps:
    """The similarity matrix ordered by cluster and, where known, by class."""
    codes, own, wrong = class_codes(record), own_distance(record), misplaced(record)
    # The matched class leads in its cluster, and the matched cluster in its class.
    by_class, by_cluster = wrong * (codes + 1), wrong * (record.labels + 1)
    orders = [("Ordered by cluster", grouped(record.labels, within=by_class, distance=own))]
    names = [tuple(map(str, range(record.distances.shape[1])))]
    if record.classes is not None:
        orders.append(("Ordered by class", grouped(codes, within=by_cluster, distance=own)))
        names.append(class_order(record))
    cells = [shown_cells(record.similarity, ordering=order) for _, order in orders]
    scale = colour_scale(cells[0])
    return Maps(
        tuple(
            _map(title, shown, scale, order, called)
            for (title, order), shown, called in zip(orders, cells, names, strict=True)
        ),
        block=-(-len(record.ids) // len(cells[0])),
        scale=scale,
        colours=tuple(f"rgb({r} {g} {b})" for r, g, b in scale.palette(17).tolist()),
        pixelated=len(cells[0]) < NARROW,
    )


def _map(
    title: str, cells: Cells, scale: ColourScale, order: Ordering, names: tuple[str, ...]
) -> Map:
    n = order.stops[-1]
    spans = [
        (names[g], 100 * start / n, 100 * (stop - start) / n) for g, start, stop in order.spans
    ]
    keys = [name for name, _, _ in spans]
    if not all(len(name) <= 2 or _room(name, width) for name, _, width in spans):
        keys = [_letters(place) for place in range(len(spans))]
    segments = tuple(Segment(key, *span) for key, span in zip(keys, spans, strict=True))
    return Map(title, data_uri(heatmap_png(cells, scale=scale)), segments)


def _room(text: str, width: float) -> bool:
    """Whether a text fits into so many percent of the side of a matrix on a phone."""
    return 7 * len(text) <= NARROW * width / 100


def _letters(number: int) -> str:
    """A, B, ... Z, AA, AB, ... for names too long to stand beside a matrix."""
    before, last = divmod(number, 26)
    return (_letters(before - 1) if before else "") + chr(ord("A") + last)
