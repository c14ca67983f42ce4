"""The numbers of a record, prepared for the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from localelastic.report.records import ClusterRecord
from localelastic.report.telling import class_codes, class_order, misplaced


@dataclass(frozen=True)
class Figure:
    """A number to be read first."""

    value: str
    unit: str
    label: str
    detail: str


@dataclass(frozen=True)
class Confusion:
    """How many examples of each class are in each cluster."""

    classes: tuple[str, ...]
    counts: Int[ndarray, "k c"]


def figures(record: ClusterRecord) -> tuple[Figure, ...]:
    """Accuracy, best baseline and chance; the sizes of the clusters where no class is known."""
    n, k = record.distances.shape
    ours = record.scores[0] if record.scores else None
    if ours is None or ours.accuracy is None:
        sizes = np.bincount(record.labels, minlength=k)
        return (
            Figure(str(k), "", "clusters", f"of {n} examples"),
            *(
                Figure(str(size), "", f"cluster {label}", f"{size / n:.0%} of the examples")
                for label, size in enumerate(sizes)
            ),
        )
    right = n - int(misplaced(record).sum())
    shown = [_percent(ours.accuracy, "accuracy", f"{right} of {n} in the cluster of their class")]
    others = [(s.accuracy, s.method) for s in record.scores[1:] if s.accuracy is not None]
    if others:
        shown.append(_percent(max(others)[0], "best baseline", max(others)[1]))
    if ours.chance is not None:
        shown.append(_percent(ours.chance, "chance", "random clusters, matched as well as can be"))
    return tuple(shown)


def _percent(share: float, label: str, detail: str) -> Figure:
    return Figure(f"{100 * share:.1f}", "%", label, detail)


def confusion(record: ClusterRecord) -> Confusion | None:
    """How clusters and known classes overlap."""
    if record.classes is None:
        return None
    names = class_order(record)
    counts = np.zeros((record.distances.shape[1], len(names)), dtype=int)
    np.add.at(counts, (record.labels, class_codes(record)), 1)
    return Confusion(names, counts)
