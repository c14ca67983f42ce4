"""Algorithm 1 from end to end: warm up, measure every pair, cluster."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from localelastic.change import Auto, Gradient, Strategy
from localelastic.cluster.clusterings import (
    Clustering,
    MatrixClusters,
    Neighbours,
    cluster_matrix,
)
from localelastic.cluster.number import Suggestion, suggest_clusters
from localelastic.data.examples import Examples
from localelastic.errors import SettingError
from localelastic.matrix import SimilarityMatrix, check_place, mean_of, place_of
from localelastic.measure import similarity_matrix
from localelastic.models import (
    DENSE_LAYERS,
    EACH_LAYER,
    Loss,
    SquaredLoss,
    TrainingRecord,
    WarmUp,
    convolves,
    default_warm_up,
    turns,
    warm_up,
)
from localelastic.shapes import Progress, silent
from localelastic.similarity import CentredKernelized, Similarity
from localelastic.trajectory import Frozen, Trajectory

N_NETWORKS = 3
"""Averaged by default: single ones differ by what they happened to learn."""


@dataclass(frozen=True, eq=False)
class ElasticClusters:
    """What one run found: how the warm-up went, the matrix, its clusters, and why so many.

    Of several networks the warm-up is that of the least training accuracy.
    """

    training: TrainingRecord
    similarity: SimilarityMatrix
    clusters: MatrixClusters
    suggestion: Suggestion | None = None


def cluster_by_elasticity(
    model: nn.Module | Sequence[nn.Module],
    primary: Examples,
    auxiliary: Examples,
    *,
    n_clusters: int | None,
    loss: Loss = SquaredLoss(),
    similarity: Similarity = CentredKernelized(),
    layers: Sequence[str] | str | None = None,
    trajectory: Trajectory = Frozen(),
    strategy: Strategy | Auto = Auto(),
    settings: WarmUp | None = None,
    clustering: Clustering = Neighbours(),
    seed: int = 0,
    keep: str | Path | None = None,
    progress: Progress = silent,
) -> ElasticClusters:
    """Warm ``model`` up in place, measure every pair of primary examples, cluster them.

    Of several networks each is warmed up and measured, and the mean of their similarities is
    clustered: what one of them sees by chance the others do not. In the same way each layer has a
    vote: steps on it alone give one similarity, and their mean is that of the network.

    Args:
        model: one output per example; it is trained. Several of them to average.
        primary: the examples to be clustered.
        auxiliary: the examples to train against.
        n_clusters: how many clusters, ``k``; if ``None`` what :func:`suggest_clusters` says.
        loss: of the warm-up and of the measured step.
        similarity: what is clustered; ``Kernelized()`` is the paper's.
        layers: what steps move: ``"each"`` layer alone, in turn; ``"all"`` at once, as in the
            paper; ``"all-but-convolutions"``; or names of modules. If ``None`` each where steps
            are small without limit, and all but convolutions where real steps are taken, whose time
            would grow with the number of layers. The warm-up trains every one.
        trajectory: which weights the measured steps start from.
        strategy: how the changes are computed.
        settings: of the warm-up; ``epochs=0`` measures the network as it is. If ``None`` as
            :func:`default_warm_up` says: a network of convolutions sees images of three colours
            moved and mirrored.
        clustering: by nearest neighbours, or ``KMeans()`` as in the paper.
        seed: of the mini-batches (each further network takes the next) and of the clustering.
        keep: a folder for finished rows of real steps, as in
            :func:`localelastic.similarity_matrix`.
        progress: told as the work goes on.

    Raises:
        InputError: model, examples or settings that cannot be measured.
        OutputError: as in :func:`localelastic.similarity_matrix`.
        MeasurementError: the warm-up diverged, or no step had a meaning.
    """
    models = [model] if isinstance(model, nn.Module) else list(model)
    if not models:
        raise SettingError("expected a network or several, got none")
    if layers is None:
        layers = default_layers(strategy, trajectory)
    if settings is None:
        settings = default_warm_up(primary.shape, convolutions=convolves(models[0]))
    for one in models:  # a wrong name or folder is said before the work
        check_place(keep, network=len(models), layer=len(turns(one, layers)))
    trainings, matrices = [], []
    for number, one in enumerate(models):
        trainings.append(
            warm_up(
                one,
                primary,
                auxiliary,
                loss=loss,
                settings=settings,
                seed=seed + number,
                progress=progress,
            )
        )
        one.eval()  # freshly built ones are in train mode, where dropout would be measured too
        matrices.append(
            similarity_matrix(
                one,
                primary,
                auxiliary,
                loss=loss,
                similarity=similarity,
                trajectory=trajectory,
                strategy=strategy,
                layers=layers,
                keep=place_of(keep, "network", number, len(models)),
                progress=progress,
            )
        )
    matrix = mean_of(matrices)
    training = min(trainings, key=lambda one: one.accuracy)
    suggestion = None
    if n_clusters is None:
        suggestion = suggest_clusters(matrix, clustering=clustering, seed=seed, progress=progress)
        n_clusters = suggestion.k
    clusters = cluster_matrix(matrix, n_clusters=n_clusters, clustering=clustering, seed=seed)
    return ElasticClusters(training, matrix, clusters, suggestion)


def default_layers(strategy: Strategy | Auto, trajectory: Trajectory) -> str:
    """What steps move where nothing is said: see :func:`cluster_by_elasticity`."""
    small = isinstance(strategy, Gradient) or (isinstance(strategy, Auto) and strategy.lr is None)
    return EACH_LAYER if small and not trajectory.moves else DENSE_LAYERS
