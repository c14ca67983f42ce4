"""Ways to cluster the kernel of a network: what a search for a better one chooses from."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from localelastic.cluster import N_NEIGHBORS, Clustering, KMeans, Neighbours, clustering_accuracy
from localelastic.errors import MeasurementError, SettingError
from localelastic.experiments.tables.cell import ALL, DENSE, SIMILARITIES, NetworkFound
from localelastic.matrix import SimilarityMatrix, of_same_steps
from localelastic.similarity import Kernelized


@dataclass(frozen=True)
class Setting:
    """How kernels become clusters; no label is seen.

    Args:
        clustering: the rule.
        similarity: a name of ``SIMILARITIES``.
        kernel: of which steps, or of what no step is needed for: a name of a cell's ``kernels``.
    """

    clustering: Clustering
    similarity: str
    kernel: str

    @property
    def label(self) -> str:
        """In words."""
        rule = (
            f"{self.clustering.n_neighbors} neighbours"
            if isinstance(self.clustering, Neighbours)
            else "K-means"
        )
        return f"{self.kernel}, {self.similarity}, {rule}"

    def accuracy(self, found: NetworkFound, seed: int) -> float:
        """Of the clusters of one network.

        Args:
            found: what its steps gave.
            seed: of the clustering.
        """
        n = len(found.ids)
        kernel = SimilarityMatrix(
            found.kernels[self.kernel].astype(float),
            found.ids,
            tuple(range(n)),
            (),
            Kernelized(),
            "",
            exact=False,
        )
        try:
            matrix = of_same_steps(kernel, SIMILARITIES[self.similarity])
            known = [found.classes[i] for i in matrix.kept]
            labels = self.clustering.clusters(matrix, n_clusters=len(set(known)), seed=seed).labels
        except (MeasurementError, SettingError):  # nothing is left, or no two are told apart
            return clustering_accuracy(found.classes, np.zeros(n, dtype=np.intp))
        return clustering_accuracy(known, labels)


CANDIDATES = tuple(
    Setting(*one)
    for one in product(
        (KMeans(), Neighbours(N_NEIGHBORS), Neighbours(10)),
        ("kernelized", "normalized", "centred"),
        (ALL, DENSE),
    )
)
DEFAULT = Setting(Neighbours(N_NEIGHBORS), "centred", DENSE)
"""What :func:`localelastic.cluster.cluster_by_elasticity` does unless told otherwise: the best on
average over the pairs of development of both data sets."""
PRINTED = Setting(KMeans(), "kernelized", ALL)
"""The paper's."""
