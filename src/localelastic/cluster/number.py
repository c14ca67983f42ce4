"""How many clusters: what the similarities themselves say, without any label."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.metrics import adjusted_rand_score

from localelastic.cluster.clusterings import Clustering, Neighbours, cluster_matrix
from localelastic.errors import SettingError, expect_kinds
from localelastic.matrix import SimilarityMatrix
from localelastic.shapes import Progress, Square, silent

MOST = 8
LEAST = 20
"""Examples below which parts of them say nothing."""
_HALVES, _SHARE = 10, 0.8


@dataclass(frozen=True)
class Suggestion:
    """A number of clusters, and the evidence.

    Args:
        k: the suggested number.
        stability: of each number from 2: the mean adjusted Rand index of clusterings of two random
            parts of the examples, over the examples in both; 1 if they always agree.
        gaps: of each number from 2: the eigenvalue that the k-th cluster needs over the next one.
        gap_k: the number with the largest gap.
    """

    k: int
    stability: dict[int, float]
    gaps: dict[int, float]
    gap_k: int


def suggest_clusters(
    matrix: SimilarityMatrix,
    *,
    most: int | None = None,
    clustering: Clustering = Neighbours(),
    seed: int = 0,
    progress: Progress = silent,
) -> Suggestion:
    """The number of clusters that random parts of the examples agree on most.

    For each ``k`` the examples are divided at random ten times into two parts of four fifths that
    overlap; each part is clustered alone, and the two are compared where they overlap. The most
    stable number is taken, of equals the largest. Beside it the eigengap: ``k`` clusters need
    ``k - 1`` directions of the centred kernel, so the ratio of its eigenvalues ``k - 1`` and ``k``
    is large where the directions end.

    Args:
        matrix: of any similarity.
        most: the largest number tried; ``None`` for 8, or a tenth of fewer than 80 examples.
        clustering: the rule whose clusters are compared.
        seed: of the parts and the starts.
        progress: told as numbers are tried.

    Raises:
        SettingError: fewer examples than ten per cluster, or than 20, or no similarity matrix.
    """
    expect_kinds(matrix=(matrix, SimilarityMatrix))
    n = len(matrix.ids)
    if n < LEAST:
        raise SettingError(
            f"expected {LEAST} examples or more to suggest a number of clusters, got {n}; name it"
        )
    most = min(MOST, n // 10) if most is None else most
    if not 2 <= most <= n // 10:
        raise SettingError(
            f"expected at most {n // 10} clusters (ten examples in each of {n}), and 2 at least, "
            f"got {most}"
        )
    random = np.random.default_rng(seed)
    size = int(_SHARE * n)
    pairs = [
        (np.sort(random.permutation(n)[:size]), np.sort(random.permutation(n)[:size]))
        for _ in range(_HALVES)
    ]
    stability = {}
    for k in range(2, most + 1):
        agreed = [_agreement(matrix, *pair, k, clustering, seed) for pair in pairs]
        stability[k] = float(np.mean(agreed))
        progress("numbers of clusters", k - 1, most - 1)
    gaps = _gaps(matrix, most)
    return Suggestion(
        max(stability, key=lambda k: (stability[k], k)),
        stability,
        gaps,
        max(gaps, key=lambda k: gaps[k]),
    )


def _agreement(
    matrix: SimilarityMatrix,
    first: np.ndarray,
    second: np.ndarray,
    k: int,
    how: Clustering,
    seed: int,
) -> float:
    labels = []
    for part in (first, second):
        one = _part(matrix, part)
        found = cluster_matrix(one, n_clusters=k, clustering=how, seed=seed).labels
        labels.append(dict(zip(part.tolist(), found.tolist(), strict=True)))
    both = sorted(set(labels[0]) & set(labels[1]))
    return float(adjusted_rand_score([labels[0][i] for i in both], [labels[1][i] for i in both]))


def _part(matrix: SimilarityMatrix, rows: np.ndarray) -> SimilarityMatrix:
    return replace(
        matrix,
        values=matrix.values[np.ix_(rows, rows)],
        ids=tuple(matrix.ids[i] for i in rows),
        kept=tuple(matrix.kept[i] for i in rows),
        below_floor=None,
        moved_share=None,
    )


def _gaps(matrix: SimilarityMatrix, most: int) -> dict[int, float]:
    values = np.linalg.eigvalsh(_centred(matrix.symmetric))[::-1]
    floor = 1e-12 * max(float(values[0]), 1e-300)
    return {
        k: float(max(values[k - 2], floor) / max(values[k - 1], floor)) for k in range(2, most + 1)
    }


def _centred(kernel: Square) -> Square:
    rows = kernel - kernel.mean(axis=0)
    return rows - rows.mean(axis=1, keepdims=True)
