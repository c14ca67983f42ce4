"""What needs no step: neighbours on pixels, and on the features of the same network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localelastic.cluster import Neighbours, clustering_accuracy
from localelastic.data import Examples
from localelastic.experiments.tables.cell import NetworkCell, penultimate
from localelastic.matrix import SimilarityMatrix
from localelastic.models import LOSSES, build_network, warm_up
from localelastic.similarity import Kernelized

N_NEIGHBORS = 5


@dataclass(frozen=True)
class RivalCell:
    """The rivals of a network on its task."""

    network: NetworkCell


def measured_rivals(cell: RivalCell) -> dict[str, float]:
    """Accuracy of each, by name.

    Raises:
        MeasurementError: the warm-up diverged.
    """
    spec = cell.network
    task = spec.part.task()
    model = build_network(spec.network, task.primary.shape, width=spec.width, seed=spec.seed)
    warm_up(
        model,
        task.primary,
        task.auxiliary,
        loss=LOSSES[spec.loss],
        settings=spec.settings,
        seed=spec.seed,
    )
    model.eval()
    features = penultimate(model, task.primary)
    pixels = task.primary.inputs.flatten(1).numpy()
    return {
        f"penultimate features, {N_NEIGHBORS} neighbours": _neighbours(
            features, task.primary, spec.seed
        ),
        f"pixels, {N_NEIGHBORS} neighbours": _neighbours(pixels, task.primary, spec.seed),
    }


def _neighbours(points: np.ndarray, examples: Examples, seed: int) -> float:
    """As of a kernel: of points it is their inner products."""
    known = examples.classes or ()
    values = points.astype(float) @ points.astype(float).T
    kept = tuple(range(len(known)))
    matrix = SimilarityMatrix(values, examples.ids, kept, (), Kernelized(), "points", False)
    rule = Neighbours(N_NEIGHBORS)
    found = rule.clusters(matrix, n_clusters=len(set(known)), seed=seed)
    return clustering_accuracy(known, found.labels)
