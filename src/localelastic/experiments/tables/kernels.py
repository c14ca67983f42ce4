"""The kernels of one network, layer by layer: what a search for a better setting chooses from."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from torch import nn

from localelastic.change import Gradient, Question
from localelastic.data import Pixels, Task
from localelastic.experiments.tables.cell import (
    PENULTIMATE,
    NetworkCell,
    Part,
    warmed_up,
)
from localelastic.matrix import SimilarityMatrix, averaged, without_excluded
from localelastic.models import (
    DENSE_LAYERS,
    LOSSES,
    code,
    layers_of,
    on_features,
    penultimate,
    stepping_on,
)
from localelastic.shapes import Square, silent
from localelastic.similarity import Kernelized
from localelastic.trajectory import Frozen

ALL, DENSE, EACH = "all layers", "dense layers", "each layer"
"""Whose weights a step moves: every one, all but those of convolutions, one layer at a time."""
PIXELS, FEATURES = "pixels", "pretrained features"
"""What networks are shown."""


@dataclass(frozen=True, eq=False)
class KernelsFound:
    """What one network gave, over the examples that every layer keeps.

    Args:
        layers: kernelized matrices of steps on one layer alone, by its name.
        convolutions: which of these layers are convolutions.
        features: inner products that need no step: of penultimate features and of what it is shown.
        classes: of the examples.
        ids: of the same.
    """

    layers: dict[str, Square] = field(repr=False)
    convolutions: frozenset[str]
    features: dict[str, Square] = field(repr=False)
    classes: tuple[str, ...] = field(repr=False)
    ids: tuple[str, ...] = field(repr=False)

    def parts(self, name: str) -> list[Square]:
        """The kernels whose similarities are averaged: more than one for ``EACH`` alone.

        Kernels of small steps add up over layers (the inner product of gradients does).

        Args:
            name: ``ALL``, ``DENSE``, ``EACH`` or one of ``features``.
        """
        if name in self.features:
            return [self.features[name]]
        if name == EACH:
            return list(self.layers.values())
        chosen = [
            kernel
            for layer, kernel in self.layers.items()
            if name == ALL or layer not in self.convolutions
        ]
        return [np.sum(chosen, axis=0)]


def kernels_by_layer(cell: NetworkCell) -> KernelsFound:
    """Warm up, then take small steps on every primary example, through one layer at a time.

    Raises:
        InputError: a task that cannot be made.
        MeasurementError: the warm-up diverged, or no step had a meaning.
    """
    return _found(cell, cell.part.task(), PIXELS)


def kernels_on_features(cell: NetworkCell) -> KernelsFound:
    """The same of a network that is shown what a pretrained classifier sees.

    Raises:
        SettingError: the package of the classifier is not installed; and as above.
    """
    return _found(cell, _on_features(cell.part), FEATURES)


@lru_cache(maxsize=2)
def _on_features(part: Part) -> Task:
    """Once for several networks."""
    return on_features(part.task(), pixels=Pixels[part.pixels])


def _found(cell: NetworkCell, task: Task, shown: str) -> KernelsFound:
    _, model, _ = warmed_up(cell, task)
    matrices = _matrices(cell, task, model)
    both = sorted(set.intersection(*(set(one.kept) for one in matrices.values())))
    layers = {}
    for layer, matrix in matrices.items():
        rows = [matrix.kept.index(i) for i in both]
        layers[layer] = matrix.values[np.ix_(rows, rows)].astype(np.float32)
    kept = task.primary.take(both)
    features = {
        PENULTIMATE: penultimate(model, kept.inputs).numpy(),
        shown: kept.inputs.flatten(1).numpy(),
    }
    with stepping_on(model, DENSE_LAYERS):
        dense = layers_of(model)
    return KernelsFound(
        layers,
        frozenset(layers.keys() - dense.keys()),
        {name: points @ points.T for name, points in features.items()},
        kept.classes or (),
        kept.ids,
    )


def _matrices(cell: NetworkCell, task: Task, model: nn.Module) -> dict[str, SimilarityMatrix]:
    """By layer, all from the same passes over the network."""
    loss, ids, similarity = LOSSES[cell.loss], task.primary.ids, Kernelized()
    coded = code(task.primary, task.auxiliary, loss)
    question = Question(model, coded, loss, loss.prediction, Frozen())
    layers, gradient = layers_of(model), Gradient()
    found = {}
    for layer, changes in zip(
        layers, gradient.together(question, [*layers.values()], silent), strict=True
    ):
        values, reasons, _, _ = averaged([changes], similarity, ids)
        found[layer] = without_excluded(
            values, reasons, ids, similarity, gradient.name, gradient.exact
        )
    return found
