"""What needs no step: neighbours on pixels, and on the features of the same network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localelastic.cluster import N_NEIGHBORS, Neighbours, clustering_accuracy
from localelastic.data import Examples
from localelastic.experiments.tables.cell import NetworkCell, penultimate, warmed_up
from localelastic.matrix import SimilarityMatrix
from localelastic.similarity import Kernelized


@dataclass(frozen=True)
class RivalCell:
    """The rivals of a network on its task."""

    network: NetworkCell


def measured_rivals(cell: RivalCell) -> dict[str, float]:
    """Accuracy of each, by name.

    Raises:
        MeasurementError: the warm-up diverged.
    """
    task, model, _ = warmed_up(cell.network)
    seed = cell.network.seed
    features = penultimate(model, task.primary)
    pixels = task.primary.inputs.flatten(1).numpy()
    return {
        f"penultimate features, {N_NEIGHBORS} neighbours": _neighbours(
            features, task.primary, seed
        ),
        f"pixels, {N_NEIGHBORS} neighbours": _neighbours(pixels, task.primary, seed),
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
