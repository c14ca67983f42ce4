"""What every strategy of real steps shares: filling rows, and saying why one has no meaning."""

from __future__ import annotations

from math import inf, isfinite

import numpy as np
import torch
from torch import Tensor

from localelastic.change.record import PredictionChange
from localelastic.change.strategy import Question
from localelastic.errors import SettingError
from localelastic.models import Loss


class Rows:
    """The rows of one pass while they are filled."""

    def __init__(self, question: Question, lr: float) -> None:
        n = question.task.n_primary
        self._question, self._lr = question, lr
        self._change = np.zeros((n, n))
        self._unit = np.zeros(n)
        self._reasons: list[str | None] = [None] * n

    def refuse(self, example: int, reason: str) -> None:
        """Mark a row whose step was not taken; a step on an auxiliary example has no row."""
        if example < len(self._reasons):
            self._reasons[example] = reason

    def refused(self, example: int) -> bool:
        """Whether the step on this primary example was not taken."""
        return self._reasons[example] is not None

    def fill(self, example: int, output: Tensor, shift: Tensor) -> None:
        """Turn outputs before a step and their shift into the row of a primary example.

        Args:
            example: the one stepped on.
            output: ``(n,)`` before the step.
            shift: ``(n,)`` what the step adds to it.
        """
        question, output, shift = self._question, output.double(), shift.double()
        if not (torch.isfinite(output).all() and torch.isfinite(shift).all()):
            self._reasons[example] = "a prediction is not finite: the step diverged"
            return
        one = slice(example, example + 1)
        target = question.task.targets[one].to(output)
        change = question.prediction.change(output, shift).cpu().numpy()
        slope = question.loss.slope(output[one], target, question.prediction).item()
        self._reasons[example] = _meaningless(change[example], slope)
        if self._reasons[example] is None:
            self._change[example], self._unit[example] = change, self._lr * slope

    def finish(self) -> PredictionChange:
        """The record of the pass."""
        own = self._change.diagonal().copy()
        return PredictionChange(self._change, own, self._unit, tuple(self._reasons))


def refusal(output: Tensor, target: Tensor, loss: Loss) -> str | None:
    """Why a step must not be taken, if so: it would poison every row after it."""
    if not torch.isfinite(target).all():
        return "the target is not finite: step refused"
    if not torch.isfinite(output).all():
        return "the prediction is not finite: step refused"
    if not torch.isfinite(loss.value(output, target)).all():
        return "the loss is not finite: step refused"
    return None


def check_lr(lr: float) -> None:
    """Raise a ``SettingError`` unless the step size is positive and finite."""
    if not 0 < lr < inf:
        raise SettingError(f"expected a positive, finite step size lr, got {lr}")


def _meaningless(self_change: float, slope: float) -> str | None:
    if slope == 0:
        return "no step: the example is fitted exactly"
    if not isfinite(slope):
        return "the loss slope overflows: the prediction is saturated"
    if self_change == 0:
        return "no self-change: the step does not move its own prediction"
    return None
