"""The numbers and pictures of a measurement, prepared for the page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Canvas

from localelastic.plots import is_image, thumbnail_png
from localelastic.plots.effect import DARK, LIGHT, Ink, first_order_scatter, sorted_sizes
from localelastic.report.inline import MINUS, data_uri, number
from localelastic.report.measure_record import MeasureRecord, ShownExample
from localelastic.report.page import Figure

_LONGEST = 400
"""Longer texts are cut; changes.csv has the id to look them up by."""


@dataclass(frozen=True)
class Card:
    """One example: the source of a picture or a text, and the words under it."""

    id: str
    known: str | None
    source: str | None
    text: str | None
    moved: str
    relative: str
    hidden: bool
    against: bool

    @property
    def short(self) -> str:
        """The last part of an id that is a path."""
        return self.id.replace("\\", "/").rstrip("/").rpartition("/")[2] or self.id


@dataclass(frozen=True)
class Group:
    """Examples that belong together; ``kind`` is images, texts or names."""

    title: str
    detail: str
    kind: str
    cards: tuple[Card, ...]


@dataclass(frozen=True)
class Chart:
    """A drawing for a light and for a dark page."""

    title: str
    light: str
    dark: str
    caption: str


def tiles(record: MeasureRecord) -> tuple[Figure, ...]:
    """Self-change, median relative change, share below the noise floor, linearity."""
    m, hidden = len(record.size), int(record.hidden.sum())
    whose = "of the example stepped on" if record.n_stepped == 1 else "mean of those stepped on"
    at_most = number(float(record.relative.max()))
    median = number(float(np.median(record.relative)))
    shown = [
        Figure(number(record.self_size), "", "self-change", f"in {record.prediction}, {whose}"),
        Figure(median, "", "median relative change", f"of {m} probes; {at_most} at most"),
        Figure(f"{100 * hidden / m:.1f}", "%", "below the noise floor", f"{hidden} of {m} probes"),
    ]
    if record.linearity is not None:
        value = f"{record.linearity:.3f}".replace("-", MINUS)
        shown.append(Figure(value, "", "linearity", "1 where the first order says everything"))
    return tuple(shown)


def stepped_group(record: MeasureRecord) -> Group:
    """The examples stepped on."""
    n, k = record.n_stepped, len(record.stepped)
    title = "Stepped on" if n == 1 else f"Stepped on, all {n} in one step"
    return _group(record, title, "" if k == n else f"the first {k} of {n}", record.stepped)


def probe_groups(record: MeasureRecord) -> tuple[Group, ...]:
    """The probes that moved most, least, and the other way."""
    other, k = int(record.against.sum()), len(record.opposite)
    detail = "" if k == other else f"the first {k} of {other}"
    return (
        _group(record, "Moved most", "", record.most),
        _group(record, "Moved the other way", detail, record.opposite),
        _group(record, "Moved least", "", record.least),
    )


def _group(
    record: MeasureRecord, title: str, detail: str, shown: tuple[ShownExample, ...]
) -> Group:
    cards = tuple(_card(record, one) for one in shown)
    pictures = bool(cards) and all(card.source for card in cards)
    texts = any(card.text for card in cards)
    return Group(title, detail, "images" if pictures else "texts" if texts else "names", cards)


def _card(record: MeasureRecord, one: ShownExample) -> Card:
    source = None
    if one.values is not None and is_image(one.values.shape):
        low, high = record.span
        source = data_uri(thumbnail_png(one.values, low=low, high=high))
    text = one.text
    if text is not None and len(text) > _LONGEST:
        text = text[:_LONGEST] + " …"
    sign = "+" if one.moved > 0 else ""
    relative = "" if one.relative is None else f"{one.relative:.2g} of it".replace("-", MINUS)
    against = any(one is other for other in record.opposite)
    return Card(
        one.id, one.known, source, text, sign + number(one.moved), relative, one.hidden, against
    )


def charts(record: MeasureRecord) -> tuple[Chart, ...]:
    """Exact change against first order, where that is known, and all changes by size."""
    what = f"change of the {record.prediction}"
    along = what if record.outputs == 1 else f"{what}, along the self-change"
    drawn = []
    if record.first_order is not None:
        linear = record.first_order

        def scatter(axes: Axes, ink: Ink) -> None:
            first_order_scatter(
                axes,
                record.moved,
                linear,
                noise_floor=record.noise_floor,
                against=record.against,
                meaning=along,
                ink=ink,
            )

        drawn.append(
            _chart(
                "What the first order says, and what happened",
                scatter,
                "On the diagonal the first order in the step, the gradient at the probe times the "
                "move of the weights, says all. The shaded band is the median noise floor.",
            )
        )

    def sizes(axes: Axes, ink: Ink) -> None:
        sorted_sizes(
            axes,
            record.size,
            noise_floor=record.noise_floor,
            against=record.against,
            self_size=record.self_size,
            meaning=f"size of the {what}",
            ink=ink,
        )

    still = int((record.size == 0).sum())
    lost = f" {still} that did not move at all have no place here." if still else ""
    caption = (
        "The dashed line is the self-change; small dots are the noise floor of each probe." + lost
    )
    drawn.append(_chart("Every probe, by how far it moved", sizes, caption))
    return tuple(drawn)


def _chart(title: str, draw: Callable[[Axes, Ink], None], caption: str) -> Chart:
    return Chart(title, _png(draw, LIGHT), _png(draw, DARK), caption)


def _png(draw: Callable[[Axes, Ink], None], ink: Ink) -> str:
    canvas = Canvas(figsize=(5.4, 4.2), dpi=170, layout="constrained", facecolor="none")
    draw(canvas.subplots(), ink)
    file = BytesIO()
    canvas.savefig(file, format="png", facecolor="none", pil_kwargs={"optimize": True})
    return data_uri(file.getvalue())
