"""The rows of a table that need no step: K-means on pixels, components and learned features."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from localelastic.cluster import pca_kmeans
from localelastic.data import Pixels, Task
from localelastic.data.origin import Origin
from localelastic.errors import MeasurementError
from localelastic.experiments.tables.cell import (
    CellScores,
    Part,
    feature_scores,
    scores_of,
)
from localelastic.models import as_photographs, penultimate
from localelastic.models.classifiers import load_classifier, shipped_classifier

AUTOENCODER_EPOCHS = 5000


@dataclass(frozen=True)
class BaselineCell:
    """One baseline on one task.

    Args:
        part: the examples.
        method: a name of ``METHODS``.
        effort: share of the published epochs, where there is training.
        seed: of the method.
        classifier: a checkpoint, for pretrained features; the packaged classifier if ``None``.
    """

    part: Part
    method: str
    effort: float
    seed: int
    classifier: Origin | None = None


def measured_baseline(cell: BaselineCell) -> CellScores:
    """Cluster the primary examples of a task, and compare with their classes.

    Raises:
        InputError: a task that cannot be made, or a package that is missing.
        MeasurementError: the training diverged.
    """
    task = cell.part.task()
    return METHODS[cell.method](task, cell)


def _plain(task: Task, cell: BaselineCell) -> CellScores:
    return feature_scores(
        task.primary.inputs.flatten(1).numpy(), task.primary, len(cell.part.primary), cell.seed
    )


def _pca(task: Task, cell: BaselineCell) -> CellScores:
    labels = pca_kmeans(
        task.primary.inputs, n_clusters=len(cell.part.primary), seed=cell.seed
    ).labels
    return scores_of(task.primary.classes or (), labels, labels[None])


def _autoencoder(task: Task, cell: BaselineCell) -> CellScores:
    images = torch.cat([task.primary.inputs, task.auxiliary.inputs])
    epochs = max(2, round(AUTOENCODER_EPOCHS * cell.effort))
    features = encoded(images, epochs=epochs, seed=cell.seed)[: len(task.primary)]
    return feature_scores(features, task.primary, len(cell.part.primary), cell.seed)


class AutoEncoder(nn.Module):
    """The paper's (Table 4): 28 x 28 grey images through 32 numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 16, 3, stride=3, padding=1)
        self.second = nn.Conv2d(16, 8, 3, stride=2, padding=1)
        self.decoder = nn.Sequential(
            nn.ConvTranspose2d(8, 16, 3, stride=2),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 8, 5, stride=3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(8, 1, 2, stride=2, padding=1),
            nn.Tanh(),
        )

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        """``(n, 8, 2, 2)``."""
        hidden = functional.max_pool2d(functional.relu(self.first(images)), 2, stride=2)
        return functional.max_pool2d(functional.relu(self.second(hidden)), 2, stride=1)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Images again."""
        return self.decoder(self.encode(images))


def encoded(images: torch.Tensor, *, epochs: int, seed: int) -> np.ndarray:
    """The code of each image after training on all of them, ``(n, 32)``.

    Adam at 1e-3 with weight decay 1e-5 on the mean squared error, full batches, as published.

    Args:
        images: ``(n, 1, 28, 28)``, pixels from -1 to 1.
        epochs: steps.
        seed: of the weights.

    Raises:
        MeasurementError: the error is no longer finite.
    """
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        model = AutoEncoder()
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-5)
        for epoch in range(epochs):
            optimizer.zero_grad()
            error = functional.mse_loss(model(images), images)
            if not torch.isfinite(error):
                raise MeasurementError(f"the autoencoder diverged in epoch {epoch + 1}")
            error.backward()
            optimizer.step()
    with torch.no_grad():
        return model.encode(images).flatten(1).numpy()


def _pretrained(task: Task, cell: BaselineCell) -> CellScores:
    given = cell.classifier
    classifier = shipped_classifier() if given is None else load_classifier(Path(given.place))
    pixels = as_photographs(task.primary.inputs, Pixels[cell.part.pixels])
    features = penultimate(classifier.module, classifier.inputs(pixels)).numpy()
    return feature_scores(features, task.primary, len(cell.part.primary), cell.seed)


METHODS: dict[str, Callable[[Task, BaselineCell], CellScores]] = {
    "K-means": _plain,
    "PCA + K-means": _pca,
    "autoencoder": _autoencoder,
    "pretrained features": _pretrained,
}
