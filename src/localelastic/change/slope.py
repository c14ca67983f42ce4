"""``dL/df``: the slope of a loss at the prediction that is watched (eq. 3's denominator)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from localelastic.models import LogProbability, Loss, Prediction, Scalar, ScalarPrediction
from localelastic.update import LossLike, Objective


def has_slope(loss: LossLike, prediction: Prediction) -> bool:
    """Whether the loss depends on the prediction and on nothing else."""
    if isinstance(loss, Loss):
        return isinstance(prediction, ScalarPrediction)
    return isinstance(prediction, Scalar) or (
        isinstance(prediction, LogProbability) and _is_cross_entropy(loss)
    )


def slope_of(loss: LossLike, prediction: Prediction, output: Tensor, target: Any) -> float | None:
    """``dL/df`` at one example, or ``None`` where ``L`` is no function of ``f`` alone.

    Args:
        loss: of the step.
        prediction: what is watched.
        output: ``(1, *out)`` at the example, in float64.
        target: its target.
    """
    if not has_slope(loss, prediction):
        return None
    if isinstance(loss, Loss):
        assert isinstance(prediction, ScalarPrediction)
        return loss.slope(output, target.to(output), prediction).item()
    if isinstance(prediction, LogProbability):
        return -1.0
    with torch.enable_grad():
        leaf = output.detach().requires_grad_()
        value = Objective(loss).of(None, leaf, _like(leaf, target))
        return torch.autograd.grad(value, leaf)[0].item()


def _like(output: Tensor, target: Any) -> Any:
    floating = isinstance(target, Tensor) and target.is_floating_point()
    return target.to(output) if floating else target


def _is_cross_entropy(loss: LossLike) -> bool:
    if isinstance(loss, nn.CrossEntropyLoss):
        return loss.weight is None and loss.label_smoothing == 0
    return loss is None or loss is functional.cross_entropy
