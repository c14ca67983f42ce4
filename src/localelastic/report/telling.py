"""What a record says of each example, and which examples are worth looking at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from numpy import ndarray

from localelastic.report.records import ClusterRecord
from localelastic.shapes import Labels, Mask, Vector


@dataclass(frozen=True, eq=False)
class Telling:
    """The telling examples of one cluster, as positions in the record.

    Args:
        typical: nearest to the own centre first.
        border: smallest margin first.
        wrong: those whose class is not the one the cluster was matched to, largest margin first:
            the most confidently wrong lead. Empty where no class is known.
    """

    typical: Int[ndarray, "a"]
    border: Int[ndarray, "b"]
    wrong: Int[ndarray, "e"]


def class_order(record: ClusterRecord) -> tuple[str, ...]:
    """The classes in the order of the clusters matched to them, then the others by name."""
    known = set(record.classes or ())
    matched = [name for name in record.matched or () if name in known]
    return tuple(dict.fromkeys([*matched, *sorted(known)]))


def class_codes(record: ClusterRecord) -> Labels:
    """The class of each example as its place in ``class_order``; 0 where no class is known."""
    if record.classes is None:
        return np.zeros(len(record.labels), dtype=int)
    place = {name: code for code, name in enumerate(class_order(record))}
    return np.array([place[name] for name in record.classes])


def own_distance(record: ClusterRecord) -> Vector:
    """The distance of each example to the centre of its own cluster."""
    own: Vector = np.take_along_axis(record.distances, record.labels[:, None], axis=1)[:, 0]
    return own


def margin(record: ClusterRecord) -> Vector:
    """How much farther the nearest other centre is than the own one.

    Infinite where there is only one cluster.
    """
    others = record.distances.astype(float)
    np.put_along_axis(others, record.labels[:, None], np.inf, axis=1)
    return others.min(axis=1) - own_distance(record)


def misplaced(record: ClusterRecord) -> Mask:
    """Which examples are in a cluster that was matched to another class, or to none."""
    if record.classes is None or record.matched is None:
        return np.zeros(len(record.labels), dtype=bool)
    pairs = zip(record.labels, record.classes, strict=True)
    return np.array([record.matched[label] != known for label, known in pairs])


def telling(record: ClusterRecord, cluster: int) -> Telling:
    """The members of a cluster, ranked three ways."""
    members = np.flatnonzero(record.labels == cluster)
    gap = margin(record)
    wrong = members[misplaced(record)[members]]
    return Telling(
        typical=members[np.argsort(own_distance(record)[members], kind="stable")],
        border=members[np.argsort(gap[members], kind="stable")],
        wrong=wrong[np.argsort(-gap[wrong], kind="stable")],
    )
