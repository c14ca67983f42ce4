"""Predictions: what is watched while a step is taken.

A network gives one output ``z`` per example; a prediction is ``f = p(z)``. Changes are computed
from ``z`` and its shift, so that a saturated probability loses nothing to cancellation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch

from localelastic.shapes import PerExample


class Prediction(ABC):
    """A scalar function of the network's output."""

    name: ClassVar[str]

    @abstractmethod
    def of(self, output: PerExample) -> PerExample:
        """``f = p(z)``."""

    @abstractmethod
    def slope(self, output: PerExample) -> PerExample:
        """``df/dz``."""

    @abstractmethod
    def change(self, output: PerExample, shift: PerExample) -> PerExample:
        """``p(z + shift) - p(z)``, without subtracting two nearly equal numbers."""


@dataclass(frozen=True)
class Scalar(Prediction):
    """The network's output itself, ``f = z``; for cross-entropy this is the logit."""

    name = "scalar"

    def of(self, output: PerExample) -> PerExample:
        """``z``."""
        return output

    def slope(self, output: PerExample) -> PerExample:
        """One."""
        return torch.ones_like(output)

    def change(self, output: PerExample, shift: PerExample) -> PerExample:
        """The shift."""
        return shift


@dataclass(frozen=True)
class Probability(Prediction):
    """The probability of the primary class, ``f = 1 / (1 + exp(-z))``.

    Example:
        At a logit of 40 a probability rounds to one, yet its change keeps full precision:

        >>> z = torch.tensor([40.0], dtype=torch.float64)
        >>> f"{Probability().change(z, torch.full_like(z, 1e-3)).item():.3e}"
        '4.246e-21'
    """

    name = "probability"

    def of(self, output: PerExample) -> PerExample:
        """The sigmoid of the output."""
        return torch.sigmoid(output)

    def slope(self, output: PerExample) -> PerExample:
        """``f (1 - f)``, as a product of two sigmoids so that ``1 - f`` is never formed."""
        return torch.sigmoid(output) * torch.sigmoid(-output)

    def change(self, output: PerExample, shift: PerExample) -> PerExample:
        """``s(z + u) s(-z) (1 - exp(-u))`` for ``u >= 0``, mirrored otherwise."""
        after = output + shift
        low, high = torch.minimum(output, after), torch.maximum(output, after)
        size = torch.sigmoid(high) * torch.sigmoid(-low) * -torch.expm1(-shift.abs())
        return torch.sign(shift) * size
