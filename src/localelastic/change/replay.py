"""The oracle: a real optimizer step, then forward again. Works for any module; slow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from localelastic.change.record import PredictionChange
from localelastic.change.strategy import Question, Strategy
from localelastic.errors import SettingError
from localelastic.shapes import Progress
from localelastic.update import Replica


@dataclass(frozen=True)
class Replay(Strategy):
    """Step on a private copy of the model, predict at all primary examples, subtract.

    Exact for the finite step, but the subtraction is rounded in the model's precision: in float32
    at small ``lr`` most of a change can be lost. Ask for ``dtype=torch.float64`` then.

    Args:
        lr: step size, positive; used as it is, never altered.
        dtype: precision of the copy; the model's own if ``None``.
        batch_size: examples per forward pass.

    Raises:
        SettingError: a step size that is not positive and finite.
    """

    lr: float = 0.01
    dtype: torch.dtype | None = None
    batch_size: int = 500
    name = "replay"
    exact = True

    def __post_init__(self) -> None:
        if not 0 < self.lr < float("inf"):
            raise SettingError(f"expected a positive, finite step size lr, got {self.lr}")

    def changes(self, question: Question, progress: Progress) -> Iterator[PredictionChange]:
        """Walk each pass of the trajectory; rows come out in the order of the primary examples."""
        replica = Replica(question.model, dtype=self.dtype, batch_size=self.batch_size)
        walk = _Walk(replica, question, self.lr)
        n, m = walk.n, len(walk.inputs) - walk.n
        for number, order in enumerate(question.trajectory.passes(n, m), start=1):
            rows = _RowBuffer(n)
            for done, example in enumerate(order, start=1):
                reason = walk.step(example, rows)
                if example < n:
                    rows.reasons[example] = reason
                progress(f"pass {number}", done, len(order))
            yield rows.finish()


class _RowBuffer:
    """Rows of one pass while they are filled."""

    def __init__(self, n: int) -> None:
        self.change = np.zeros((n, n))
        self.unit = np.zeros(n)
        self.reasons: list[str | None] = [None] * n

    def finish(self) -> PredictionChange:
        return PredictionChange(
            self.change, self.change.diagonal().copy(), self.unit, tuple(self.reasons)
        )


class _Walk:
    """The moving weights, and the outputs at them as long as no step has changed them."""

    def __init__(self, replica: Replica, question: Question, lr: float) -> None:
        self.replica, self.question, self.lr = replica, question, lr
        self.n = question.task.n_primary
        self.inputs = replica.place(question.task.inputs)
        self.targets = replica.place(question.task.targets)
        self.current: Tensor | None = None

    def step(self, example: int, rows: _RowBuffer) -> str | None:
        """Take one step, fill its row if the example is primary; why it has no meaning, if so."""
        question, moves = self.question, self.question.trajectory.moves
        before = self._outputs() if example < self.n else None
        one, target = self.inputs[example : example + 1], self.targets[example : example + 1]
        own = self.replica.outputs(one) if before is None else before[example : example + 1]
        refused = _refusal(own, target, question.loss.value(own, target))
        if refused is not None:
            return refused
        self.replica.step(one, target, question.loss, self.lr)
        after = None if before is None else self.replica.outputs(self.inputs[: self.n])
        if moves:
            self.current = after
        else:
            self.replica.restore()
        if before is None or after is None:
            return None
        return self._fill(example, before, after, target, rows)

    def _outputs(self) -> Tensor:
        if self.current is None:
            self.current = self.replica.outputs(self.inputs[: self.n])
        return self.current

    def _fill(
        self, i: int, before: Tensor, after: Tensor, target: Tensor, rows: _RowBuffer
    ) -> str | None:
        question = self.question
        before, after, target = before.double(), after.double(), target.double()
        if not (torch.isfinite(before).all() and torch.isfinite(after).all()):
            return "a prediction is not finite: the step diverged"
        change = question.prediction.change(before, after - before).cpu().numpy()
        slope = question.loss.slope(before[i : i + 1], target, question.prediction).item()
        reason = meaningless(change[i], slope)
        if reason is None:
            rows.change[i], rows.unit[i] = change, self.lr * slope
        return reason


def meaningless(self_change: float, slope: float) -> str | None:
    """Why a row with this self-change and loss slope has no meaning, or ``None``."""
    if slope == 0:
        return "no step: the example is fitted exactly"
    if not np.isfinite(slope):
        return "the loss slope overflows: the prediction is saturated"
    if self_change == 0:
        return "no self-change: the step does not move its own prediction"
    return None


def _refusal(output: Tensor, target: Tensor, value: Tensor) -> str | None:
    """Why a step must not be taken: it would poison every row after it."""
    if not torch.isfinite(target).all():
        return "the target is not finite: step refused"
    if not torch.isfinite(output).all():
        return "the prediction is not finite: step refused"
    if not torch.isfinite(value).all():
        return "the loss is not finite: step refused"
    return None
