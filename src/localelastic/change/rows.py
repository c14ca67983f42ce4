"""What every strategy of real steps shares: filling rows, and saying why one has no meaning."""

from __future__ import annotations

from math import isfinite

import numpy as np
import torch
from torch import Tensor

from localelastic.change.keep import Block
from localelastic.change.record import Changes, Trust
from localelastic.change.slope import slope_of
from localelastic.change.strategy import Question
from localelastic.models import Loss


class Rows:
    """The rows of one pass while they are filled."""

    def __init__(self, question: Question, lr: float) -> None:
        n = question.task.n_primary
        self._question, self._lr = question, lr
        self._change = np.zeros((n, n))
        self._unit = np.zeros(n)
        self._reasons: list[str | None] = [None] * n
        self._below, self._moved = np.zeros(n), np.zeros(n)
        self._trusted = False

    def trust(self, example: int, floor: np.ndarray, moved_share: float) -> None:
        """What is known of the noise in a row, and how much of the weights its step has changed.

        Args:
            example: the one stepped on.
            floor: ``(n,)`` the noise floor of every probe.
            moved_share: ``nan`` if it is not known.
        """
        self._trusted = True
        self._below[example] = (np.abs(self._change[example]) <= floor).mean()
        self._moved[example] = moved_share

    def refuse(self, example: int, reason: str) -> None:
        """Mark a row whose step was not taken; a step on an auxiliary example has no row."""
        if example < len(self._reasons):
            self._reasons[example] = reason

    def refused(self, example: int) -> bool:
        """Whether the step on this primary example was not taken."""
        return self._reasons[example] is not None

    def fill(self, example: int, output: Tensor, shift: Tensor) -> None:
        """Turn outputs before a step and their shift into the row of a primary example.

        Of a prediction that is a vector the row holds the lengths of its changes.

        Args:
            example: the one stepped on.
            output: ``(n, *out)`` before the step; what the prediction keeps of it.
            shift: likewise, what the step adds to it.
        """
        question, output, shift = self._question, output.double(), shift.double()
        if not (torch.isfinite(output).all() and torch.isfinite(shift).all()):
            self._reasons[example] = "a prediction is not finite: the step diverged"
            return
        one = slice(example, example + 1)
        targets = question.task.targets
        probed = None if targets is None else targets[: len(output)].to(output.device)
        moved = question.prediction.change(output, shift, probed)
        change = (moved if moved.ndim == 1 else moved.norm(dim=1)).cpu().numpy()
        own = None if probed is None else probed[one]
        slope = slope_of(question.loss, question.prediction, output[one], own)
        slope = 1.0 if slope is None else slope
        self._reasons[example] = _meaningless(change[example], slope)
        if self._reasons[example] is None:
            self._change[example], self._unit[example] = change, self._lr * slope

    def block(self, examples: list[int]) -> Block:
        """Some rows that are finished, to be kept."""
        return Block(
            np.array(examples),
            self._change[examples],
            self._unit[examples],
            tuple(self._reasons[example] or "" for example in examples),
            self._below[examples],
            self._moved[examples],
        )

    def put(self, block: Block) -> None:
        """Rows that were kept."""
        examples = block.examples
        self._change[examples], self._unit[examples] = block.change, block.unit
        self._below[examples], self._moved[examples] = block.below_floor, block.moved_share
        self._trusted = True
        for example, reason in zip(examples.tolist(), block.reasons, strict=True):
            self._reasons[example] = reason or None

    def finish(self, way: str = "") -> Changes:
        """The record of the pass.

        Args:
            way: how it came about, where that is worth saying.
        """
        own = self._change.diagonal().copy()
        known = not np.isnan(self._moved).any()
        trust = Trust(self._below, self._moved if known else None)
        return Changes(
            self._change,
            own,
            self._unit,
            tuple(self._reasons),
            way,
            trust=trust if self._trusted else None,
        )


def refusal(output: Tensor, target: Tensor, loss: Loss) -> str | None:
    """Why a step must not be taken, if so: it would poison every row after it."""
    if not torch.isfinite(target).all():
        return "the target is not finite: step refused"
    if not torch.isfinite(output).all():
        return "the prediction is not finite: step refused"
    if not torch.isfinite(loss.value(output, target)).all():
        return "the loss is not finite: step refused"
    return None


def _meaningless(self_change: float, slope: float) -> str | None:
    if slope == 0:
        return "no step: the example is fitted exactly"
    if not isfinite(slope):
        return "the loss slope overflows: the prediction is saturated"
    if self_change == 0:
        return "no self-change: the step does not move its own prediction"
    return None
