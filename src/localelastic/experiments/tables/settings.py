"""Ways to cluster the kernel of a network: what a search for a better one chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from localelastic.cluster import (
    N_NEIGHBORS,
    N_NETWORKS,
    Clustering,
    KMeans,
    Neighbours,
    clustering_accuracy,
)
from localelastic.errors import MeasurementError, SettingError
from localelastic.experiments.tables.cell import SIMILARITIES
from localelastic.experiments.tables.kernels import ALL, DENSE, EACH, KernelsFound
from localelastic.matrix import SimilarityMatrix, mean_of, of_same_steps
from localelastic.shapes import Square
from localelastic.similarity import Kernelized


@dataclass(frozen=True)
class Setting:
    """How kernels become clusters; no label is seen.

    Args:
        clustering: the rule.
        similarity: a name of ``SIMILARITIES``.
        kernel: of which steps, or of what no step is needed for: see
            :meth:`KernelsFound.parts`.
        networks: whose similarities are averaged.
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
        many = f", {self.networks} networks" if self.networks > 1 else ""
        return f"{self.kernel}, {self.similarity}, {rule}{many}"

    def accuracy(self, found: Sequence[KernelsFound], seed: int) -> float:
        """Of the clusters of several networks, or of stages of their warm-up.

        Args:
            found: what the steps of each gave, on the same examples.
            seed: of the clustering.
        """
        known = {
            name: one for each in found for name, one in zip(each.ids, each.classes, strict=True)
        }
        places = {name: place for place, name in enumerate(known)}
        k = len(set(known.values()))
        try:
            matrix = mean_of(
                [
                    self._matrix(kernel, one.ids, places)
                    for one in found
                    for kernel in one.parts(self.kernel)
                ]
            )
            labels = self.clustering.clusters(matrix, n_clusters=k, seed=seed).labels
        except (MeasurementError, SettingError):  # nothing is left, or no two are told apart
            return clustering_accuracy(list(known.values()), np.zeros(len(known), dtype=np.intp))
        return clustering_accuracy([known[name] for name in matrix.ids], labels)

    def _matrix(
        self, kernel: Square, ids: tuple[str, ...], places: dict[str, int]
    ) -> SimilarityMatrix:
        """With the places of the examples among all."""
        plain = SimilarityMatrix(
            kernel.astype(float),
            ids,
            tuple(places[name] for name in ids),
            (),
            Kernelized(),
            "",
            exact=False,
        )
        return of_same_steps(plain, SIMILARITIES[self.similarity])


SETTINGS = tuple(
    Setting(*one)
    for one in product(
        (KMeans(), Neighbours(N_NEIGHBORS)),
        ("kernelized", "normalized", "centred"),
        (ALL, DENSE, EACH),
        (1, N_NETWORKS),
    )
)
"""What is chosen from."""
