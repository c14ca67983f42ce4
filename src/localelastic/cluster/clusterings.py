"""What turns a similarity matrix into clusters: its neighbours, or K-means as in the paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from localelastic.cluster.baselines import row_kmeans, spectral
from localelastic.cluster.kernel_kmeans import KernelKMeans, check_distinct
from localelastic.errors import SettingError, expect_whole
from localelastic.matrix import SimilarityMatrix
from localelastic.shapes import Labels, Square

N_STARTS = 20
N_NEIGHBORS = 5


@dataclass(frozen=True, eq=False)
class MatrixClusters:
    """The clusters of a similarity matrix.

    Args:
        labels: cluster of each kept example, in the order of the matrix.
        distances: ``(n, k)`` squared distance of each to each centre.
        start_labels: ``(s, n)`` the labels that each start ended in, where starts are compared; a
            single one elsewhere.
    """

    labels: Labels
    distances: Float[np.ndarray, "n k"]
    start_labels: Int[np.ndarray, "s n"]


class Clustering(ABC):
    """A rule that sees the similarities and nothing else."""

    name: ClassVar[str]
    """As typed."""

    @abstractmethod
    def clusters(self, matrix: SimilarityMatrix, *, n_clusters: int, seed: int) -> MatrixClusters:
        """Cluster the kept examples by the symmetrised values.

        Raises:
            SettingError: more clusters than distinct examples.
        """

    @abstractmethod
    def words(self, matrix: SimilarityMatrix) -> str:
        """What it does with this similarity."""


@dataclass(frozen=True)
class KMeans(Clustering):
    """As in the paper: kernel K-means for a kernel, K-means on the rows for any other similarity.

    Args:
        n_init: starts of kernel K-means; the one with the least objective is kept.
    """

    n_init: int = N_STARTS
    name = "k-means"

    def clusters(self, matrix: SimilarityMatrix, *, n_clusters: int, seed: int) -> MatrixClusters:
        """Algorithm 1, its last step."""
        if not matrix.similarity.is_kernel:
            rows = row_kmeans(matrix.symmetric, n_clusters=n_clusters, seed=seed)
            return MatrixClusters(rows.labels, rows.distances, rows.labels[None])
        fitted = KernelKMeans(
            n_clusters, kernel="precomputed", n_init=self.n_init, random_state=seed
        )
        fitted.fit(matrix.symmetric)
        return MatrixClusters(fitted.labels_, fitted.distances_, fitted.start_labels_)

    def words(self, matrix: SimilarityMatrix) -> str:
        """Which of the two."""
        if matrix.similarity.is_kernel:
            return f"kernel K-means, best of {self.n_init} starts"
        return "K-means on the rows, best of 10 starts"


@dataclass(frozen=True)
class Neighbours(Clustering):
    """Spectral clustering of the graph that joins each example to those most similar to it.

    Of a kernel the most similar are those at the least distance ``K_ii + K_jj - 2 K_ij``. Only they
    count, so clusters may have any shape; K-means wants them round. Local elasticity is about what
    is near, and says little about what is far.

    Args:
        n_neighbors: joined to each; ``None`` for 5, or a quarter of fewer than 20 examples.
    """

    n_neighbors: int | None = None
    name = "neighbours"

    def __post_init__(self) -> None:
        if self.n_neighbors is not None:
            expect_whole(self.n_neighbors, "n_neighbors", least=1)

    def clusters(self, matrix: SimilarityMatrix, *, n_clusters: int, seed: int) -> MatrixClusters:
        """Join, then discretise the leading eigenvectors of the graph."""
        values = matrix.symmetric
        check_distinct(
            lambda i: (values == values[i]).all(axis=1), n=len(values), n_clusters=n_clusters
        )
        found = spectral(self.graph(matrix), n_clusters=n_clusters, seed=seed)
        return MatrixClusters(found.labels, found.distances, found.labels[None])

    def graph(self, matrix: SimilarityMatrix) -> Square:
        """1 where two examples are among each other's nearest, 1/2 where one is, else 0.

        Raises:
            SettingError: more neighbours than other examples.
        """
        n = len(matrix.ids)
        count = self._count(n)
        if not 1 <= count < n:
            raise SettingError(
                f"expected n_neighbors up to {n - 1}, the number of other examples, got {count}"
            )
        distance = _distances(matrix)
        np.fill_diagonal(distance, np.inf)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        joined = np.zeros((n, n))
        joined[np.arange(n)[:, None], nearest] = 0.5
        return joined + joined.T

    def words(self, matrix: SimilarityMatrix) -> str:
        """With the number of neighbours."""
        return f"spectral, on the graph of {self._count(len(matrix.ids))} nearest neighbours"

    def _count(self, n: int) -> int:
        return self.n_neighbors or min(N_NEIGHBORS, max(1, n // 4))


def _distances(matrix: SimilarityMatrix) -> Square:
    """Squared, up to a constant and a factor."""
    values = matrix.symmetric
    if not matrix.similarity.is_kernel:
        return -values
    own = values.diagonal()
    distance: Square = own[:, None] + own[None, :] - 2 * values
    return distance


CLUSTERINGS = (KMeans.name, Neighbours.name)
"""Names at the command line."""


def cluster_matrix(
    matrix: SimilarityMatrix,
    *,
    n_clusters: int,
    clustering: Clustering = Neighbours(),
    seed: int = 0,
) -> MatrixClusters:
    """The clusters of a similarity matrix.

    Args:
        matrix: clustered by its symmetrised values.
        n_clusters: how many clusters, ``k``.
        clustering: the rule.
        seed: of its starts.

    Raises:
        SettingError: more clusters than distinct examples.
    """
    return clustering.clusters(matrix, n_clusters=n_clusters, seed=seed)
