"""How well clusters match known classes, beside what random labels would get."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from localelastic.errors import ClassError, DataError, expect_whole
from localelastic.shapes import Labels


@dataclass(frozen=True)
class Scores:
    """How well clusters match the known classes.

    Args:
        accuracy: share of examples whose cluster is matched to their class.
        ari: adjusted Rand index, 0 on average for random labels.
        nmi: normalized mutual information.
        chance: the mean accuracy of random labels, which is above ``1 / k``.
    """

    accuracy: float
    ari: float
    nmi: float
    chance: float


def score_clusters(
    classes: Sequence[str], labels: Labels, *, draws: int = 200, seed: int = 0
) -> Scores:
    """All scores of one clustering.

    Args:
        classes: the known class of each example.
        labels: its cluster, ``0 .. k-1``.
        draws: how many random labellings the accuracy by chance is the mean of.
        seed: of these draws.

    Raises:
        ClassError: not one class per label, or a missing one.
        DataError: labels that are no whole numbers, or below 0.
    """
    _, table = _contingency(classes, labels)
    return Scores(
        accuracy=_matched(table) / len(labels),
        ari=float(adjusted_rand_score(classes, labels)),
        nmi=float(normalized_mutual_info_score(classes, labels)),
        chance=chance_accuracy(classes, table.shape[1], draws=draws, seed=seed),
    )


def clustering_accuracy(classes: Sequence[str], labels: Labels) -> float:
    """Share of examples in the cluster matched to their class, under the best one-to-one matching.

    A class and a cluster are matched once at most; members of a cluster left over count as wrong.
    With two of each this is ``1/2 + |correct/n - 1/2|``.

    Raises:
        ClassError: not one class per label, or a missing one.
        DataError: labels that are no whole numbers, or below 0.

    Example:
        >>> clustering_accuracy(["cat", "cat", "dog", "dog"], np.array([1, 1, 0, 1]))
        0.75
    """
    _, table = _contingency(classes, labels)
    return _matched(table) / len(labels)


def match_clusters(classes: Sequence[str], labels: Labels) -> tuple[str | None, ...]:
    """The class of each cluster ``0 .. k-1`` under the matching of :func:`clustering_accuracy`.

    ``None`` for a cluster without a class: more clusters than classes, or no member of the class
    that is left for it.

    Raises:
        ClassError: not one class per label, or a missing one.
        DataError: labels that are no whole numbers, or below 0.

    Example:
        >>> match_clusters(["cat", "cat", "dog", "dog"], np.array([1, 1, 0, 2]))
        ('dog', 'cat', None)
    """
    names, table = _contingency(classes, labels)
    found = {
        int(cluster): str(names[row])
        for row, cluster in zip(*linear_sum_assignment(table, maximize=True), strict=True)
        if table[row, cluster] > 0
    }
    return tuple(found.get(cluster) for cluster in range(table.shape[1]))


def chance_accuracy(
    classes: Sequence[str], n_clusters: int, *, draws: int = 200, seed: int = 0
) -> float:
    """Mean :func:`clustering_accuracy` of labels drawn uniformly from ``0 .. n_clusters - 1``.

    The matching is chosen after the labels are seen, so this lies above ``1 / n_clusters``: 0.588
    for two clusters in 20 examples of two equal classes.

    Raises:
        ClassError: no class, or a missing one.
        SettingError: no cluster, or no draw.
    """
    expect_whole(n_clusters, "n_clusters", 1)
    expect_whole(draws, "draws", 1)
    rng = np.random.default_rng(seed)
    names, rows = _coded(classes)
    tables = (
        _table(rows, rng.integers(n_clusters, size=len(rows)), len(names), n_clusters)
        for _ in range(draws)
    )
    return float(np.mean([_matched(table) for table in tables])) / len(rows)


def _contingency(classes: Any, labels: Any) -> tuple[np.ndarray, Int[np.ndarray, "classes k"]]:
    """The distinct classes, and how many examples of each are in each cluster.

    Both come from the caller, of whatever type, and are checked here.
    """
    names, rows = _coded(classes)
    labels = np.asarray(labels)
    if labels.ndim != 1 or labels.dtype.kind not in "iu":
        raise DataError(
            f"expected labels as a row of whole numbers, got an array of {labels.dtype} and shape "
            f"{labels.shape}"
        )
    if len(rows) != len(labels):
        raise ClassError(
            f"expected one class per label, got {len(rows)} classes for {len(labels)} labels"
        )
    left_out = int((labels < 0).sum())
    if left_out:
        raise DataError(
            f"expected labels 0 .. k-1, got {left_out} below 0, which mark examples that were left "
            "out; score the clustered ones only: keep = labels >= 0"
        )
    return names, _table(rows, labels, len(names), int(labels.max()) + 1)


def _coded(classes: Any) -> tuple[np.ndarray, Labels]:
    """The distinct classes, and which of them each example has."""
    known = np.asarray(classes)
    if known.ndim != 1 or not len(known):
        raise ClassError(f"expected a row of classes, one per example, got shape {known.shape}")
    missing = [i for i, name in enumerate(classes) if name is None or name != name]  # NaN
    if missing:
        raise ClassError(
            f"expected a class for each example, got none for {len(missing)} (first: position "
            f"{missing[0]}); score those of known class only"
        )
    names, rows = np.unique(known, return_inverse=True)
    return names, rows


def _table(
    rows: Labels, labels: Labels, n_classes: int, n_clusters: int
) -> Int[np.ndarray, "classes k"]:
    counts = np.bincount(rows * n_clusters + labels, minlength=n_classes * n_clusters)
    return counts.reshape(n_classes, n_clusters)


def _matched(table: Int[np.ndarray, "classes k"]) -> int:
    return int(table[linear_sum_assignment(table, maximize=True)].sum())
