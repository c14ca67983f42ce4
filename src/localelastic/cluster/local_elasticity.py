"""Algorithm 1 from end to end: warm up, measure every pair, cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from torch import nn

from localelastic.change import Auto, Strategy
from localelastic.cluster.baselines import row_kmeans
from localelastic.cluster.kernel_kmeans import KernelKMeans
from localelastic.data.examples import Examples
from localelastic.matrix import SimilarityMatrix
from localelastic.measure import similarity_matrix
from localelastic.models import Loss, SquaredLoss, TrainingRecord, WarmUp, warm_up
from localelastic.shapes import Labels, Progress, silent
from localelastic.similarity import Kernelized, Similarity
from localelastic.trajectory import Frozen, Trajectory

N_STARTS = 20


@dataclass(frozen=True, eq=False)
class MatrixClusters:
    """The clusters of a similarity matrix.

    Args:
        labels: cluster of each kept example, in the order of the matrix.
        distances: ``(n, k)`` squared distance of each to each centre.
        start_labels: ``(s, n)`` the labels that each start ended in; a single one for K-means.
    """

    labels: Labels
    distances: Float[np.ndarray, "n k"]
    start_labels: Int[np.ndarray, "s n"]


@dataclass(frozen=True, eq=False)
class ElasticClusters:
    """What one run of the algorithm found: how the warm-up went, the matrix, its clusters."""

    training: TrainingRecord
    similarity: SimilarityMatrix
    clusters: MatrixClusters


def cluster_by_elasticity(
    model: nn.Module,
    primary: Examples,
    auxiliary: Examples,
    *,
    n_clusters: int,
    loss: Loss = SquaredLoss(),
    similarity: Similarity = Kernelized(),
    trajectory: Trajectory = Frozen(),
    strategy: Strategy | Auto = Auto(),
    settings: WarmUp = WarmUp(),
    n_init: int = N_STARTS,
    seed: int = 0,
    keep: str | Path | None = None,
    progress: Progress = silent,
) -> ElasticClusters:
    """Warm ``model`` up in place, measure every pair of primary examples, cluster them.

    Args:
        model: one output per example; it is trained.
        primary: the examples to be clustered.
        auxiliary: the examples to train against.
        n_clusters: how many clusters, ``k``.
        loss: of the warm-up and of the measured step.
        similarity: kernels are clustered by kernel K-means, others by K-means on their rows.
        trajectory: which weights the measured steps start from.
        strategy: how the changes are computed.
        settings: of the warm-up; ``epochs=0`` measures the network as it is.
        n_init: starts of the clustering; the one with the least objective is kept.
        seed: of the mini-batches and of the clustering.
        keep: a folder for finished rows of real steps, as in
            :func:`localelastic.similarity_matrix`.
        progress: told as the work goes on.

    Raises:
        InputError: model, examples or settings that cannot be measured.
        MeasurementError: the warm-up diverged, or no step had a meaning.
    """
    training = warm_up(
        model, primary, auxiliary, loss=loss, settings=settings, seed=seed, progress=progress
    )
    model.eval()  # freshly built ones are in train mode, where dropout would be measured too
    matrix = similarity_matrix(
        model,
        primary,
        auxiliary,
        loss=loss,
        similarity=similarity,
        trajectory=trajectory,
        strategy=strategy,
        keep=keep,
        progress=progress,
    )
    clusters = cluster_matrix(matrix, n_clusters=n_clusters, n_init=n_init, seed=seed)
    return ElasticClusters(training, matrix, clusters)


def cluster_matrix(
    matrix: SimilarityMatrix, *, n_clusters: int, n_init: int = N_STARTS, seed: int = 0
) -> MatrixClusters:
    """Kernel K-means for a kernel, K-means on the rows for any other similarity.

    Args:
        matrix: clustered by its symmetrised values.
        n_clusters: how many clusters, ``k``.
        n_init: starts of kernel K-means; the one with the least objective is kept.
        seed: of the starts.

    Raises:
        SettingError: more clusters than distinct examples.
    """
    if not matrix.similarity.is_kernel:
        rows = row_kmeans(matrix.symmetric, n_clusters=n_clusters, seed=seed)
        return MatrixClusters(rows.labels, rows.distances, rows.labels[None])
    fitted = KernelKMeans(n_clusters, kernel="precomputed", n_init=n_init, random_state=seed)
    fitted.fit(matrix.symmetric)
    return MatrixClusters(fitted.labels_, fitted.distances_, fitted.start_labels_)
