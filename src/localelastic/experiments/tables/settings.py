"""Ways to cluster the kernels of some networks: what a search for a better one chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from localelastic.cluster import N_NEIGHBORS, Clustering, KMeans, Neighbours, clustering_accuracy
from localelastic.errors import SettingError
from localelastic.experiments.tables.cell import NetworkFound
from localelastic.matrix import SimilarityMatrix, of_same_steps
from localelastic.shapes import Square
from localelastic.similarity import Kernelized, NormalizedKernelized, symmetrised


@dataclass(frozen=True)
class Setting:
    """How kernels become clusters; no label is seen.

    Args:
        clustering: the rule.
        normalized: whether each kernel is normalized (appendix A.4) before anything else.
        networks: how many networks' kernels are averaged, each over its mean self-similarity.
    """

    clustering: Clustering
    normalized: bool
    networks: int

    @property
    def label(self) -> str:
        """In words."""
        rule = (
            f"{self.clustering.n_neighbors} neighbours"
            if isinstance(self.clustering, Neighbours)
            else "K-means"
        )
        kind = "normalized" if self.normalized else "kernelized"
        many = "1 network" if self.networks == 1 else f"{self.networks} networks"
        return f"{rule}, {kind}, {many}"

    def accuracies(self, found: Sequence[NetworkFound], seed: int) -> list[float]:
        """Of every group of as many networks on one sample.

        Args:
            found: networks on the same examples.
            seed: of the clustering.
        """
        groups = [found[i : i + self.networks] for i in range(0, len(found), self.networks)]
        return [self._accuracy(group, seed) for group in groups if len(group) == self.networks]

    def _accuracy(self, found: Sequence[NetworkFound], seed: int) -> float:
        ids = sorted(set.intersection(*(set(one.ids) for one in found)))
        classes = dict(zip(found[0].ids, found[0].classes, strict=True))
        values = np.mean([self._kernel(one, ids) for one in found], axis=0)
        similarity = NormalizedKernelized() if self.normalized else Kernelized()
        kept = tuple(range(len(ids)))
        matrix = SimilarityMatrix(values, tuple(ids), kept, (), similarity, "average", False)
        known = [classes[name] for name in ids]
        try:
            labels = self.clustering.clusters(matrix, n_clusters=len(set(known)), seed=seed).labels
        except SettingError:  # no two examples are told apart
            labels = np.zeros(len(ids), dtype=np.intp)
        return clustering_accuracy(known, labels)

    def _kernel(self, found: NetworkFound, ids: list[str]) -> Square:
        place = {name: i for i, name in enumerate(found.ids)}
        rows = [place[name] for name in ids]
        values = symmetrised(found.kernel.astype(float))[np.ix_(rows, rows)]
        if not self.normalized:
            kernel: Square = values / values.trace() * len(values)
            return kernel
        kept = tuple(range(len(ids)))
        matrix = SimilarityMatrix(values, tuple(ids), kept, (), Kernelized(), "", False)
        return of_same_steps(matrix, NormalizedKernelized()).values


CANDIDATES = tuple(
    Setting(clustering, normalized, networks)
    for clustering, normalized, networks in product(
        (KMeans(), Neighbours(N_NEIGHBORS), Neighbours(10), Neighbours(20)), (False, True), (1, 3)
    )
)
DEFAULT = Setting(Neighbours(N_NEIGHBORS), normalized=False, networks=1)
"""What :func:`localelastic.cluster.cluster_by_elasticity` does unless told otherwise."""
PRINTED = Setting(KMeans(), normalized=False, networks=1)
"""The paper's."""
