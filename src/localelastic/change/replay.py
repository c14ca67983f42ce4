"""The oracle: a real optimizer step, then forward again. Works for any module; slow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from localelastic.change.record import PredictionChange
from localelastic.change.rows import Rows, check_lr, refusal
from localelastic.change.strategy import Question, Strategy
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
        check_lr(self.lr)

    def changes(self, question: Question, progress: Progress) -> Iterator[PredictionChange]:
        """Walk each pass of the trajectory; rows come out in the order of the primary examples."""
        replica = Replica(question.model, dtype=self.dtype, batch_size=self.batch_size)
        walk = _Walk(replica, question, self.lr)
        n, m = question.task.n_primary, len(question.task.inputs) - question.task.n_primary
        for number, order in enumerate(question.trajectory.passes(n, m), start=1):
            rows = Rows(question, self.lr)
            for done, example in enumerate(order, start=1):
                walk.step(example, rows)
                progress(f"pass {number}", done, len(order))
            yield rows.finish()


class _Walk:
    """The moving weights, and the outputs at them as long as no step has changed them."""

    def __init__(self, replica: Replica, question: Question, lr: float) -> None:
        self.replica, self.question, self.lr = replica, question, lr
        self.n = question.task.n_primary
        self.inputs = replica.place(question.task.inputs)
        self.targets = replica.place(question.task.targets)
        self.current: Tensor | None = None

    def step(self, example: int, rows: Rows) -> None:
        """Take one step, and fill its row if the example is primary."""
        one = slice(example, example + 1)
        input_, target = self.inputs[one], self.targets[one]
        before = self._outputs() if example < self.n else None
        own = self.replica.outputs(input_) if before is None else before[one]
        refused = refusal(own, target, self.question.loss)
        if refused is not None:
            rows.refuse(example, refused)
            return
        self.replica.step(input_, target, self.question.loss, self.lr)
        self.current = None
        if before is not None:
            after = self._outputs().double()
            rows.fill(example, before, after - before.double())
        if not self.question.trajectory.moves:
            self.replica.restore()
            self.current = before

    def _outputs(self) -> Tensor:
        """At all primary examples."""
        if self.current is None:
            self.current = self.replica.outputs(self.inputs[: self.n])
        return self.current
