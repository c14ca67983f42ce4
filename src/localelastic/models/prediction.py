"""Predictions: what is watched while a step is taken.

A network gives one output ``z`` per example; a prediction is ``f = p(z)``. Changes are computed
from ``z`` and its shift, so that a saturated probability loses nothing to cancellation.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from localelastic.errors import SettingError
from localelastic.models.softmax import log_probability_change
from localelastic.shapes import PerExample


class Prediction(ABC):
    """What is watched of the model's output ``z``, ``(n, *out)``: a number or a vector each."""

    name: ClassVar[str]
    needs_target: ClassVar[bool] = False

    @abstractmethod
    def of(self, output: Tensor, target: Tensor | None = None) -> Tensor:
        """``f = p(z)``, ``(n,)`` or ``(n, c)``; differentiable."""

    def check(self, output: Tensor, target: Tensor | None = None) -> None:
        """Refuse targets that have no meaning, before any work.

        Args:
            output: ``(k, *out)`` of a few examples.
            target: of all examples.

        Raises:
            DataError: such a target.
        """
        return

    @abstractmethod
    def change(self, output: Tensor, shift: Tensor, target: Tensor | None = None) -> Tensor:
        """``p(z + shift) - p(z)``, without subtracting two nearly equal numbers."""

    def kept(self, output: Tensor, target: Tensor | None = None) -> Tensor:
        """What must be kept of an output for its change: the output, or less where it is large."""
        return output

    def value(self, kept: Tensor, target: Tensor | None = None) -> Tensor:
        """``f`` of what was kept."""
        return self.of(kept, target)


class ScalarPrediction(Prediction):
    """A function of one output per example, with a slope."""

    @abstractmethod
    def slope(self, output: PerExample) -> PerExample:
        """``df/dz``."""


@dataclass(frozen=True)
class Scalar(ScalarPrediction):
    """The network's output itself, ``f = z``; for cross-entropy this is the logit."""

    name = "scalar"

    def of(self, output: Tensor, target: Tensor | None = None) -> Tensor:
        """``z``.

        Raises:
            SettingError: more than one output per example.
        """
        if output.ndim != 1:
            raise SettingError(
                "the prediction scalar expects one output per example, got shape "
                f"{tuple(output.shape)}; watch logits, probability, log-probability or one class"
            )
        return output

    def slope(self, output: PerExample) -> PerExample:
        """One."""
        return torch.ones_like(output)

    def change(self, output: Tensor, shift: Tensor, target: Tensor | None = None) -> Tensor:
        """The shift."""
        return self.of(shift)


@dataclass(frozen=True)
class Probability(ScalarPrediction):
    """``f = 1 / (1 + exp(-z))`` of one output, the probability of the primary class; else of all.

    With an output per class it is the vector of ``exp(z_k) / sum_j exp(z_j)``.

    Example:
        At a logit of 40 a probability rounds to one, yet its change keeps full precision:

        >>> z = torch.tensor([40.0], dtype=torch.float64)
        >>> f"{Probability().change(z, torch.full_like(z, 1e-3)).item():.3e}"
        '4.246e-21'
    """

    name = "probability"

    def of(self, output: Tensor, target: Tensor | None = None) -> Tensor:
        """The sigmoid of one output, the softmax of several."""
        return torch.sigmoid(output) if output.ndim == 1 else output.softmax(-1)

    def slope(self, output: PerExample) -> PerExample:
        """``f (1 - f)``, as a product of two sigmoids so that ``1 - f`` is never formed."""
        return torch.sigmoid(output) * torch.sigmoid(-output)

    def change(self, output: Tensor, shift: Tensor, target: Tensor | None = None) -> Tensor:
        """``s(z + u) s(-z) (1 - exp(-u))`` for ``u >= 0``, mirrored; of several ``p (e^d - 1)``."""
        if output.ndim > 1:
            return output.softmax(-1) * torch.expm1(log_probability_change(output, shift))
        after = output + shift
        low, high = torch.minimum(output, after), torch.maximum(output, after)
        size = torch.sigmoid(high) * torch.sigmoid(-low) * -torch.expm1(-shift.abs())
        return torch.sign(shift) * size
