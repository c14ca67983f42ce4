"""A network fitted to a synthetic set, as in the paper's simulations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import nn

from localelastic.change import Gradient
from localelastic.data.geometry import GEOMETRIES, GeometrySample
from localelastic.measure import similarity_matrix
from localelastic.models import (
    PUBLISHED_WIDTHS,
    SquaredLoss,
    TrainingRecord,
    WarmUp,
    build_network,
    code,
    sharpness,
    warm_up,
)
from localelastic.shapes import Progress, Square, silent
from localelastic.similarity import SignedRelative

LOSS = SquaredLoss()
N_POINTS = 50
PUBLISHED_LR = 1e-5
"""Of the scripts, whose squared error has no 1/2: twice that on our loss."""
STABLE_SHARE = 2 / 3
"""Of the stability limit, where the published step size is near it or above."""
NEAR = 0.9
"""Of the stability limit: a published step size below that is stable enough to stand alone."""


@dataclass(frozen=True)
class GeometryScale:
    """How much of the published simulation is run.

    Args:
        width: as a share of the published width. Step sizes grow as it shrinks: curvature is
            proportional to the width, so the published ones stay where they were relative to the
            stability limit.
        epochs: of full-batch gradient descent; published 20,000.
    """

    width: float
    epochs: int

    def units(self, family: str) -> int:
        """Hidden units of a layer of a family of networks."""
        return round(PUBLISHED_WIDTHS[family] * self.width)


SCALES = {
    "smoke": GeometryScale(1 / 640, 20),
    "quick": GeometryScale(1 / 16, 1000),
    "paper": GeometryScale(1.0, 20000),
}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A network fitted to one sample, and how.

    Args:
        sample: primary and auxiliary points.
        model: fitted.
        lr: of the fit, on our loss.
        limit: the largest stable step size at initialisation.
        training: how the fit went; ``None`` if the network is untrained.
    """

    sample: GeometrySample
    model: nn.Module
    lr: float
    limit: float
    training: TrainingRecord | None

    def signed(self) -> Square:
        """The signed ratio of changes of all pairs of primary points, for small steps.

        Rows are the points stepped on. Its absolute value is the relative similarity (eq. 2).
        """
        return similarity_matrix(
            self.model,
            self.sample.primary.examples,
            loss=LOSS,
            similarity=SignedRelative(),
            strategy=Gradient(),
        ).values


def fit(
    geometry: str,
    network: str,
    scale: GeometryScale,
    *,
    seed: int,
    stable: bool,
    epochs: int | None = None,
    progress: Progress = silent,
) -> Fitted:
    """Sample 50 + 50 points and fit a network to them by full-batch gradient descent.

    Args:
        geometry: a name of ``GEOMETRIES``.
        network: a name of ``NETWORKS``.
        scale: width and epochs.
        seed: of points and weights.
        stable: take the published step size only where it is below the stability limit, else two
            thirds of that.
        epochs: in place of the scale's.
        progress: told as the fit goes on.

    Raises:
        MeasurementError: the fit diverged.
    """
    sample = GEOMETRIES[geometry].sample(N_POINTS, seed=seed)
    model, limit = start(sample, network, scale, seed=seed)
    lr = published_lr(scale)
    if stable:
        lr = min(lr, STABLE_SHARE * limit)
    epochs = scale.epochs if epochs is None else epochs
    task, training = sample.task, None
    if epochs:
        settings = WarmUp(epochs, lr, 0.0, 2 * N_POINTS)
        training = warm_up(
            model,
            task.primary,
            task.auxiliary,
            loss=LOSS,
            settings=settings,
            seed=seed,
            progress=progress,
        )
    return Fitted(sample, model, lr, limit, training)


def start(
    sample: GeometrySample, network: str, scale: GeometryScale, *, seed: int
) -> tuple[nn.Module, float]:
    """The untrained network, and the largest stable step size there."""
    family = network.removesuffix("-linear").removesuffix("-sigmoid")
    width = scale.units(family)
    model = build_network(network, sample.examples.shape, width=width, seed=seed)
    task = code(sample.task.primary, sample.task.auxiliary, LOSS)
    dtype = next(model.parameters()).dtype
    steepest = sharpness(model, task.inputs.to(dtype), task.targets.to(dtype), loss=LOSS)
    return model, 2 / steepest if steepest > 0 else torch.inf


@runtime_checkable
class OfKind(Protocol):
    """A cell of one kind of network."""

    @property
    def kind(self) -> str:
        """ReLU, linear or sigmoid."""

    @property
    def seed(self) -> int:
        """Of network and sample."""


def run_words(run: tuple[OfKind, str]) -> str:
    """Kind of network, moment and seed."""
    cell, moment = run
    return f"{cell.kind}, {moment}, seed {cell.seed}"


def published_lr(scale: GeometryScale) -> float:
    """The published step size, on our loss, at the width of this scale."""
    return 2 * PUBLISHED_LR / scale.width
