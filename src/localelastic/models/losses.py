"""Losses per example, their slope, and the paper's coding of primary and auxiliary targets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf
from typing import ClassVar

import torch
from torch.nn import functional

from localelastic.errors import DataError
from localelastic.models.prediction import Probability, Scalar, ScalarPrediction
from localelastic.shapes import PerExample


class Loss(ABC):
    """``L(z, y)`` of a network's output ``z`` and a target ``y``, one number per example."""

    name: ClassVar[str]
    primary_target: ClassVar[float] = 1.0
    auxiliary_target: ClassVar[float]
    target_range: ClassVar[tuple[float, float]]
    prediction: ClassVar[ScalarPrediction]
    """What the paper watches under this loss."""

    @abstractmethod
    def value(self, output: PerExample, target: PerExample) -> PerExample:
        """``L(z, y)``."""

    @abstractmethod
    def output_slope(self, output: PerExample, target: PerExample) -> PerExample:
        """``dL/dz``, computed so that it keeps its precision where the loss is saturated."""

    def slope(
        self, output: PerExample, target: PerExample, prediction: ScalarPrediction
    ) -> PerExample:
        """``dL/df = (dL/dz) / (df/dz)`` for the prediction ``f`` (eq. 3's denominator)."""
        return self.output_slope(output, target) / prediction.slope(output)

    def check_targets(self, targets: PerExample) -> None:
        """Refuse finite targets that the loss is not defined for.

        Raises:
            DataError: a target outside the loss's range.
        """
        low, high = self.target_range
        finite = targets[torch.isfinite(targets)]
        outside = finite[(finite < low) | (finite > high)]
        if len(outside):
            raise DataError(
                f"the {self.name} loss expects targets between {low:g} and {high:g}, "
                f"got {outside[0].item():g}; code the classes so, or use another loss"
            )


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """``(f - y)^2 / 2`` (section 2.2); primary +1, auxiliary -1; the prediction is the output."""

    name = "squared"
    auxiliary_target = -1.0
    target_range = (-inf, inf)
    prediction = Scalar()

    def value(self, output: PerExample, target: PerExample) -> PerExample:
        """``(z - y)^2 / 2``."""
        return (output - target).square() / 2

    def output_slope(self, output: PerExample, target: PerExample) -> PerExample:
        """``z - y``."""
        return output - target


@dataclass(frozen=True)
class CrossEntropy(Loss):
    """Binary cross-entropy of a logit ``z``; primary 1, auxiliary 0; the prediction is ``s(z)``."""

    name = "cross-entropy"
    auxiliary_target = 0.0
    target_range = (0.0, 1.0)
    prediction = Probability()

    def value(self, output: PerExample, target: PerExample) -> PerExample:
        """``-y log s(z) - (1 - y) log s(-z)``."""
        return functional.binary_cross_entropy_with_logits(output, target, reduction="none")

    def output_slope(self, output: PerExample, target: PerExample) -> PerExample:
        """``s(z) - y``, written ``(1 - y) s(z) - y s(-z)``: exact for ``y`` in {0, 1}."""
        return (1 - target) * torch.sigmoid(output) - target * torch.sigmoid(-output)


LOSSES: dict[str, Loss] = {loss.name: loss for loss in (SquaredLoss(), CrossEntropy())}
"""By the name used at the command line."""
