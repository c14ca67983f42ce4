"""The telling examples of a record, prepared for the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from localelastic.plots import curve_points, is_image, thumbnail_png
from localelastic.report.inline import data_uri, number
from localelastic.report.records import ClusterRecord
from localelastic.report.telling import margin, misplaced, telling
from localelastic.shapes import Mask, Vector


@dataclass(frozen=True)
class Picture:
    """One example, as one of three: the source of an image, the points of a curve, its numbers."""

    id: str
    known: str | None
    wrong: bool
    margin: float | None
    source: str | None = None
    points: str | None = None
    numbers: str | None = None

    @property
    def short(self) -> str:
        """The last part of an id that is a path."""
        return self.id.replace("\\", "/").rstrip("/").rpartition("/")[2] or self.id


@dataclass(frozen=True)
class Cluster:
    """One cluster and its telling examples."""

    label: int
    size: int
    matched: str | None
    typical: tuple[Picture, ...]
    border: tuple[Picture, ...]
    wrong: tuple[Picture, ...]
    all_wrong: tuple[tuple[str, str], ...]


def clusters(record: ClusterRecord) -> tuple[Cluster, ...]:
    """Every cluster with its typical, border and wrong examples."""
    k = record.distances.shape[1]
    most = 12 if k <= 4 else 8 if k <= 8 else 4
    pictures = _Pictures.of(record)

    def cluster(label: int) -> Cluster:
        told = telling(record, label)
        size = len(told.typical)
        # In a small cluster, typical and border must not both show every member.
        few = min(most, -(-size // 2))
        known = record.classes or ()
        return Cluster(
            label,
            size,
            record.matched[label] if record.matched is not None else None,
            pictures.take(told.typical[:few]),
            pictures.take(told.border[:few] if k > 1 else told.border[:0]),
            pictures.take(told.wrong[:most]),
            tuple((record.ids[i], known[i]) for i in told.wrong),
        )

    return tuple(map(cluster, range(k)))


@dataclass(frozen=True, eq=False)
class _Pictures:
    """Draws the examples of a record, all in the range of values of the whole set."""

    record: ClusterRecord
    low: float
    high: float
    margins: Vector
    wrong: Mask

    @classmethod
    def of(cls, record: ClusterRecord) -> _Pictures:
        low, high = float(record.inputs.min()), float(record.inputs.max())
        return cls(record, low, high, margin(record), misplaced(record))

    def take(self, indices: Int[ndarray, "some"]) -> tuple[Picture, ...]:
        return tuple(map(self.draw, indices.tolist()))

    def draw(self, index: int) -> Picture:
        record, example = self.record, self.record.inputs[index]
        source = points = numbers = None
        if is_image(example.shape):
            source = data_uri(thumbnail_png(example, low=self.low, high=self.high))
        elif example.size <= 3:
            numbers = ", ".join(number(value) for value in example.ravel().tolist())
        else:
            curve = curve_points(example, low=self.low, high=self.high) * (100, 40)
            points = " ".join(f"{x:.1f},{y:.1f}" for x, y in curve)
        gap = float(self.margins[index])
        return Picture(
            record.ids[index],
            None if record.classes is None else record.classes[index],
            bool(self.wrong[index]),
            gap if np.isfinite(gap) else None,
            source,
            points,
            numbers,
        )
