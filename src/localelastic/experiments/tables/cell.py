"""One network, warmed up on one task with one seed, and how well its steps cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from torch import nn

from localelastic.change import Auto
from localelastic.cluster import KMeans, clustering_accuracy, kmeans
from localelastic.cluster.kernel_kmeans import Starts
from localelastic.cluster.scores import chance_accuracy, score_clusters
from localelastic.data import (
    Examples,
    FirstSampling,
    Pixels,
    RandomSampling,
    Task,
    load_examples,
    primary_vs_auxiliary,
)
from localelastic.data.origin import Origin
from localelastic.errors import SettingError
from localelastic.matrix import SimilarityMatrix, of_same_steps
from localelastic.measure import similarity_matrix
from localelastic.models import (
    LOSSES,
    TrainingRecord,
    WarmUp,
    build_network,
    penultimate,
    warm_up,
)
from localelastic.shapes import Labels
from localelastic.similarity import CentredKernelized, Kernelized, NormalizedKernelized, Relative
from localelastic.trajectory import Frozen, Sequential

SIMILARITIES = {
    "relative": Relative(),
    "kernelized": Kernelized(),
    "normalized": NormalizedKernelized(),
    "centred": CentredKernelized(),
}
PENULTIMATE = "penultimate features"


@dataclass(frozen=True)
class Part:
    """Which examples: everything that the task of a cell depends on.

    Args:
        data: where they are, and what was there.
        primary: classes to be told apart.
        auxiliary: classes to train against.
        n_primary: primary examples in all.
        n_auxiliary: auxiliary examples in all.
        sampling: "first" as in the published scripts, or "random".
        pixels: how pixels are scaled.
        seed: of random sampling.
    """

    data: Origin
    primary: tuple[str, ...]
    auxiliary: tuple[str, ...]
    n_primary: int
    n_auxiliary: int
    sampling: str = "random"
    pixels: str = "SIGNED"
    seed: int = 0

    def task(self) -> Task:
        """Read and chosen."""
        first = self.sampling == "first"
        return primary_vs_auxiliary(
            _examples(self.data, self.pixels),
            primary=self.primary,
            auxiliary=self.auxiliary,
            n_primary=self.n_primary,
            n_auxiliary=self.n_auxiliary,
            sampling=FirstSampling() if first else RandomSampling(self.seed),
        )


@lru_cache(maxsize=2)
def _examples(data: Origin, pixels: str) -> Examples:
    """Read once per process, for many cells."""
    return load_examples(data.place, pixels=Pixels[pixels])


@dataclass(frozen=True)
class NetworkCell:
    """One network on one task.

    Args:
        part: the examples.
        network: a name of ``NETWORKS``.
        width: hidden units; the published number if ``None``.
        loss: a name of ``LOSSES``.
        settings: of the warm-up; no epochs measure the untrained network.
        sequential: walk through all examples as Algorithm 1 is printed; else weights stay frozen.
        seed: of weights, mini-batches, order of steps and clustering.
    """

    part: Part
    network: str
    width: int | None
    loss: str
    settings: WarmUp
    sequential: bool
    seed: int


@dataclass(frozen=True)
class CellScores:
    """How well one clustering matches the known classes.

    Args:
        accuracy: of the start with the least objective, by optimal assignment.
        ari: adjusted Rand index.
        nmi: normalized mutual information.
        chance: mean accuracy of random labels.
        starts: accuracy of each start of kernel K-means, best objective or not.
        excluded: examples whose step had no meaning.
        told_apart: whether the similarity tells any two examples apart; where it does not, all are
            one cluster.
    """

    accuracy: float
    ari: float
    nmi: float
    chance: float
    starts: tuple[float, ...]
    excluded: int = 0
    told_apart: bool = True


@dataclass(frozen=True, eq=False)
class NetworkFound:
    """What one network gave.

    Args:
        scores: by name of the similarity, and of the penultimate features.
        training_accuracy: of the warm-up.
        final_loss: of its last epoch; ``nan`` without one.
        lr: of the warm-up.
        strategy: how changes were computed.
    """

    scores: dict[str, CellScores]
    training_accuracy: float
    final_loss: float
    lr: float
    strategy: str


def measured(cell: NetworkCell) -> NetworkFound:
    """Warm up, step on every primary example, cluster by each similarity.

    Raises:
        InputError: a task that cannot be made.
        MeasurementError: the warm-up diverged, or no step had a meaning.
    """
    task, model, training = warmed_up(cell)
    kernel = kernel_of(cell, task, model)
    k = len(cell.part.primary)
    scores = {
        name: scored(of_same_steps(kernel, similarity), task.primary, k, cell.seed)
        for name, similarity in SIMILARITIES.items()
    }
    features = penultimate(model, task.primary.inputs).numpy()
    scores[PENULTIMATE] = feature_scores(features, task.primary, k, cell.seed)
    return NetworkFound(
        scores,
        training.accuracy,
        training.losses[-1] if training.losses else float("nan"),
        training.lr,
        kernel.strategy,
    )


def kernel_of(cell: NetworkCell, task: Task, model: nn.Module) -> SimilarityMatrix:
    """Kernelized similarities of steps on what is trainable in a warmed-up network."""
    return similarity_matrix(
        model,
        task.primary,
        task.auxiliary,
        loss=LOSSES[cell.loss],
        similarity=Kernelized(),
        trajectory=Sequential(1, cell.seed) if cell.sequential else Frozen(),
        strategy=Auto(),
    )


def warmed_up(
    cell: NetworkCell, task: Task | None = None
) -> tuple[Task, nn.Module, TrainingRecord]:
    """The network of a cell, ready to be measured, and how its warm-up went.

    Args:
        cell: the network.
        task: what it sees instead of the examples as they are, such as their features.

    Raises:
        InputError: a task that cannot be made.
        MeasurementError: the warm-up diverged.
    """
    task = cell.part.task() if task is None else task
    model = build_network(cell.network, task.primary.shape, width=cell.width, seed=cell.seed)
    training = warm_up(
        model,
        task.primary,
        task.auxiliary,
        loss=LOSSES[cell.loss],
        settings=cell.settings,
        seed=cell.seed,
    )
    return task, model.eval(), training


def scored(matrix: SimilarityMatrix, primary: Examples, k: int, seed: int) -> CellScores:
    """Clusters of a matrix against the known classes of the examples it keeps."""
    known = primary.take(matrix.kept).classes or ()
    left_out = len(matrix.excluded)
    try:
        clusters = KMeans().clusters(matrix, n_clusters=k, seed=seed)
    except SettingError:  # fewer distinct examples than clusters
        return _one_cluster(known, k, left_out)
    return scores_of(known, clusters.labels, clusters.start_labels, left_out)


def feature_scores(features: np.ndarray, primary: Examples, k: int, seed: int) -> CellScores:
    """K-means on features against the known classes."""
    known = primary.classes or ()
    try:
        labels = kmeans(features, n_clusters=k, seed=seed).labels
    except SettingError:  # as above
        return _one_cluster(known, k, 0)
    return scores_of(known, labels, labels[None])


def scores_of(
    known: tuple[str, ...], labels: Labels, start_labels: Starts, left_out: int = 0
) -> CellScores:
    """Of labels that were found, beside those of every start."""
    found = score_clusters(known, labels)
    starts = tuple(clustering_accuracy(known, one) for one in start_labels)
    return CellScores(found.accuracy, found.ari, found.nmi, found.chance, starts, left_out)


def _one_cluster(known: tuple[str, ...], k: int, left_out: int) -> CellScores:
    one = score_clusters(known, np.zeros(len(known), dtype=np.intp))
    return CellScores(one.accuracy, 0.0, 0.0, chance_accuracy(known, k), (), left_out, False)
