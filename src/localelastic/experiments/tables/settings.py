"""Ways to cluster the kernels of some networks: what a search for a better one chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from localelastic.cluster import N_NEIGHBORS, Clustering, KMeans, Neighbours, clustering_accuracy
from localelastic.errors import MeasurementError, SettingError
from localelastic.experiments.tables.cell import ALL, DENSE, SIMILARITIES, NetworkFound
from localelastic.matrix import SimilarityMatrix, mean_of, of_same_steps
from localelastic.similarity import Kernelized


@dataclass(frozen=True)
class Setting:
    """How kernels become clusters; no label is seen.

    Args:
        clustering: the rule.
        similarity: a name of ``SIMILARITIES``, of each network by itself.
        kernel: of which steps, or of what no step is needed for: a name of a cell's ``kernels``.
        networks: how many networks' similarities are averaged, each over its mean self-similarity.
    """

    clustering: Clustering
    similarity: str
    kernel: str
    networks: int = 1

    @property
    def label(self) -> str:
        """In words."""
        rule = (
            f"{self.clustering.n_neighbors} neighbours"
            if isinstance(self.clustering, Neighbours)
            else "K-means"
        )
        many = "1 network" if self.networks == 1 else f"{self.networks} networks"
        return f"{self.kernel}, {self.similarity}, {rule}, {many}"

    def accuracy(self, found: Sequence[NetworkFound], seed: int) -> float:
        """Of the mean over the networks.

        Args:
            found: as many networks as are averaged, on the same examples.
            seed: of the clustering.
        """
        ids = sorted(set.union(*(set(one.ids) for one in found)))
        try:
            matrix = mean_of([self._matrix(one, ids) for one in found])
        except MeasurementError:  # nothing is left of any example
            return _one_cluster(found[0].classes)
        classes = {
            name: known for one in found for name, known in zip(one.ids, one.classes, strict=True)
        }
        known = [classes[name] for name in matrix.ids]
        try:
            labels = self.clustering.clusters(matrix, n_clusters=len(set(known)), seed=seed).labels
        except SettingError:  # no two examples are told apart
            return _one_cluster(known)
        return clustering_accuracy(known, labels)

    def _matrix(self, found: NetworkFound, ids: list[str]) -> SimilarityMatrix:
        kernel = SimilarityMatrix(
            found.kernels[self.kernel].astype(float),
            found.ids,
            tuple(ids.index(name) for name in found.ids),
            (),
            Kernelized(),
            "",
            exact=False,
        )
        return of_same_steps(kernel, SIMILARITIES[self.similarity])


def _one_cluster(known: Sequence[str]) -> float:
    return clustering_accuracy(known, np.zeros(len(known), dtype=np.intp))


CANDIDATES = tuple(
    Setting(*one)
    for one in product(
        (KMeans(), Neighbours(N_NEIGHBORS), Neighbours(10)),
        ("kernelized", "normalized", "centred"),
        (ALL, DENSE),
    )
)
DEFAULT = Setting(Neighbours(N_NEIGHBORS), "centred", DENSE)
"""What :func:`localelastic.cluster.cluster_by_elasticity` does unless told otherwise."""
PRINTED = Setting(KMeans(), "kernelized", ALL)
"""The paper's."""
