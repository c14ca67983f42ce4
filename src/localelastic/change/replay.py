"""The oracle: a real optimizer step, then forward again. Works for any module; slow."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
import torch
from torch import Tensor

from localelastic.change.keep import Keep
from localelastic.change.noise import noise_floor
from localelastic.change.record import Changes
from localelastic.change.rows import Rows, refusal
from localelastic.change.strategy import Question, Strategy
from localelastic.data.nested import rows_of
from localelastic.models import Loss, ScalarPrediction
from localelastic.shapes import Progress
from localelastic.update import Objective, Replica, StepRefusedError, check_lr, is_plain


@dataclass(frozen=True)
class Replay(Strategy):
    """Step on a private copy of the model, predict at all primary examples, subtract.

    Exact for the finite step, but the subtraction is rounded in the model's precision: in float32
    at small ``lr`` most of a change can be lost. Ask for ``dtype=torch.float64`` then.

    Args:
        lr: step size of plain SGD, positive; used as it is, never altered. If ``None`` 0.01, or
            what the question's optimizer has.
        dtype: precision of the copy; the model's own if ``None``.
        batch_size: examples per forward pass.

    Raises:
        SettingError: a step size that is not positive and finite.
    """

    lr: float | None = None
    dtype: torch.dtype | None = None
    batch_size: int = 500
    name = "replay"
    exact = True
    keeps = True

    def __post_init__(self) -> None:
        if self.lr is not None:
            check_lr(self.lr)

    def changes(
        self, question: Question, progress: Progress, keep: Keep | None = None
    ) -> Iterator[Changes]:
        """Walk each pass of the trajectory; rows come out in the order of the primary examples.

        Rows that were kept are not measured again. Their steps are taken again where the weights
        move, because later rows depend on them; a step is cheap beside its row.
        """
        replica = Replica(
            question.model,
            optimizer=question.optimizer,
            lr=self.lr,
            dtype=self.dtype,
            batch_size=self.batch_size,
            forward=question.forward,
            mode=question.mode,
        )
        lr = is_plain(replica.optimizer)
        walk, known = _Walk(replica, question), 0
        n, m = question.task.n_primary, question.task.n - question.task.n_primary
        for number, order in enumerate(question.trajectory.passes(n, m), start=1):
            rows = Rows(question, 1.0 if lr is None else lr)
            keeper = _Keeper(keep, number, rows)
            known += len(keeper.known)
            try:
                for done, example in enumerate(order, start=1):
                    walk.step(example, rows, known=example in keeper.known)
                    keeper.finished(example, n)
                    progress(f"pass {number}", done, len(order))
            finally:  # an interruption loses nothing that is finished
                keeper.flush()
            yield rows.finish(f"{known} rows kept from before" if known else "")


class _Keeper:
    """Hands finished rows on in blocks."""

    def __init__(self, keep: Keep | None, number: int, rows: Rows) -> None:
        self._keep, self._number, self._rows = keep, number, rows
        self._finished: list[int] = []
        self.known: set[int] = set()
        for block in () if keep is None else keep.kept(number):
            rows.put(block)
            self.known.update(block.examples.tolist())

    def finished(self, example: int, n: int) -> None:
        """A row is finished, if the example has one."""
        if self._keep is not None and example < n and example not in self.known:
            self._finished.append(example)
            if len(self._finished) == self._keep.size:
                self.flush()

    def flush(self) -> None:
        """Keep what is finished."""
        if self._keep is not None and self._finished:
            self._keep.keep(self._number, self._rows.block(self._finished))
            self._finished = []


class _Walk:
    """The moving weights, and the outputs at them as long as no step has changed them."""

    def __init__(self, replica: Replica, question: Question) -> None:
        self.replica, self.question = replica, question
        self.n, self.objective = question.task.n_primary, Objective(question.loss)
        self.inputs = replica.place(question.task.inputs)
        self.targets = replica.place(question.task.targets)
        self.current: Tensor | None = None
        self.floor: Tensor | None = None

    def step(self, example: int, rows: Rows, known: bool = False) -> None:
        """Take one step, and fill its row if the example is primary and its row not known."""
        if known and not self.question.trajectory.moves:
            return
        if known and self.floor is None:  # of the first row, also when it is not measured again
            self._noise(self._outputs())
        one = slice(example, example + 1)
        input_ = rows_of(self.inputs, one)
        target = None if self.targets is None else self.targets[one]
        before = self._outputs() if example < self.n and not known else None
        floor = None if before is None else self._noise(before)
        refused = self._refusal(example, input_, target)
        if refused is None:
            try:
                self.replica.step(input_, target, self.objective)
            except StepRefusedError as error:
                refused = str(error)
        if refused is not None:
            rows.refuse(example, refused)
            return
        self.current = None
        if before is not None:
            rows.fill(example, before, self._outputs().double() - before.double())
            if floor is not None and not rows.refused(example):
                moves = self.question.trajectory.moves
                share = nan if moves else self.replica.moved_share()
                rows.trust(example, floor, share)
        if not self.question.trajectory.moves:
            self.replica.restore()
            self.current = before

    def _noise(self, before: Tensor) -> np.ndarray:
        """The noise floor of all primary examples, looked at once."""
        if self.floor is None:
            self.floor = noise_floor(
                self.replica, *self._primary(), self.question.prediction, before.double()
            )
        return self.floor.cpu().numpy()

    def _primary(self) -> tuple[Any, Any]:
        """Inputs and targets of the primary examples."""
        primary = slice(0, self.n)
        targets = None if self.targets is None else self.targets[primary]
        return rows_of(self.inputs, primary), targets

    def _refusal(self, example: int, input_: Any, target: Any) -> str | None:
        """Why the step must not be taken, where that shows without taking it."""
        loss = self.question.loss
        if not isinstance(loss, Loss):
            return None
        known = self.current if example < self.n and self._whole else None
        own = self.replica.outputs(input_) if known is None else known[example : example + 1]
        return refusal(own, target, loss)

    @property
    def _whole(self) -> bool:
        """Whether all of an output is kept."""
        return isinstance(self.question.prediction, ScalarPrediction)

    def _outputs(self) -> Tensor:
        """At all primary examples: what the prediction keeps of them."""
        if self.current is None:
            inputs, targets = self._primary()
            keep = None if self._whole else self.question.prediction.kept
            self.current = self.replica.outputs(inputs, keep, targets)
        return self.current
