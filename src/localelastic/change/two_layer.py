"""Exact finite steps of two-layer networks, without taking them: the closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from localelastic.change.keep import Keep
from localelastic.change.record import Changes
from localelastic.change.rows import Rows, refusal
from localelastic.change.strategy import Question, Strategy
from localelastic.errors import ModelError
from localelastic.models import Activation, Layers, Loss, Scalar, two_layer
from localelastic.numerics import kernels
from localelastic.numerics.two_layer import (
    Walk,
    Weights,
    frozen_shifts,
    outputs,
    quiet,
    shifts,
    walk,
)
from localelastic.shapes import Progress
from localelastic.update import check_lr


@dataclass(frozen=True)
class ClosedForm(Strategy):
    """The change by a real step on a two-layer network, equal to :class:`Replay` up to rounding.

    Costs ``n^2 h`` instead of ``n^2 h d``, and computes the change itself: no digits are lost to a
    subtraction, however small the step.

    Args:
        lr: step size, positive; used as it is, never altered.
        dtype: precision; the model's own if ``None``.

    Raises:
        SettingError: a step size that is not positive and finite.
    """

    lr: float = 0.01
    dtype: torch.dtype | None = None
    name = "closed form"
    exact = True

    def __post_init__(self) -> None:
        check_lr(self.lr)

    def changes(
        self, question: Question, progress: Progress, keep: Keep | None = None
    ) -> Iterator[Changes]:
        """One record per pass.

        Raises:
            ModelError: the network is not one whose closed form is known.
        """
        layers = question.special or two_layer(question.model)
        if isinstance(layers, str):
            raise ModelError(
                f"the closed form is for two-layer networks, got one where {layers}; use Replay"
            )
        run = _Run(question, layers, self.lr, self.dtype or layers[0].weight.dtype)
        steps = run.moving if question.trajectory.moves else run.frozen
        return steps(progress)


_CODES = {
    Activation.RELU: kernels.RELU,
    Activation.SIGMOID: kernels.SIGMOID,
    Activation.IDENTITY: kernels.IDENTITY,
}


class _Run:
    """One question, as raw arrays."""

    def __init__(self, question: Question, layers: Layers, lr: float, dtype: torch.dtype) -> None:
        hidden, readout, activation = layers

        def raw(values: Tensor) -> ndarray:
            return values.detach().to("cpu", dtype).numpy()

        task = question.task
        self.question, self.lr, self.n = question, lr, task.n_primary
        self.inputs, self.targets = raw(task.inputs.flatten(1)), task.targets.double()
        self.start = Weights(
            raw(hidden.weight),
            raw(hidden.bias),
            raw(readout.weight[0]),
            readout.bias.item(),
            _CODES[activation],
        )
        self.threads = torch.get_num_threads()

    def moving(self, progress: Progress) -> Iterator[Changes]:
        """Each pass starts where the one before ended."""
        n = self.n
        walked: Walk | None = None
        passes = self.question.trajectory.passes(n, len(self.inputs) - n)
        for number, order in enumerate(passes, start=1):
            start = self.start if walked is None else walked.end()
            rows, steps = Rows(self.question, self.lr), np.array(order)
            walked = walk(start, self.inputs[steps], self._slopes(steps, rows), lr=self.lr)
            # Outputs before a step matter only where the prediction is not the output itself; they
            # are then summed up from the shifts of all steps, auxiliary ones too.
            linear = isinstance(self.question.prediction, Scalar)
            shift = shifts(
                start,
                walked,
                self.inputs[steps],
                self.inputs[:n],
                steps < n if linear else np.ones(len(steps), dtype=bool),
                threads=self.threads,
                tell=partial(progress, f"pass {number}"),
            )
            self._fill(rows, order, walked, outputs(start, self.inputs[:n]), shift)
            yield rows.finish()

    def frozen(self, progress: Progress) -> Iterator[Changes]:
        """All steps start from the same weights."""
        rows, output = Rows(self.question, self.lr), outputs(self.start, self.inputs[: self.n])
        slope = self._slopes(np.arange(self.n), rows)
        rate = np.array([-self.lr * (slope(output[i], i) or 0.0) for i in range(self.n)])
        shift = frozen_shifts(
            self.start,
            self.inputs[: self.n],
            rate.astype(self.inputs.dtype),
            threads=self.threads,
            tell=partial(progress, "frozen steps"),
        )
        for i in range(self.n):
            if not rows.refused(i):
                rows.fill(i, torch.from_numpy(output), torch.from_numpy(shift[i]))
        yield rows.finish()

    @quiet()
    def _fill(
        self, rows: Rows, order: list[int], walked: Walk, output: ndarray, shift: ndarray
    ) -> None:
        for step, example in enumerate(order):
            if example < self.n and not rows.refused(example):
                output[example] = walked.output[step]
                rows.fill(example, torch.from_numpy(output), torch.from_numpy(shift[step]))
            output += shift[step]

    def _slopes(self, steps: ndarray, rows: Rows) -> Callable[[float, int], float | None]:
        """``dL/dz`` at a step, or ``None`` and a marked row where it must not be taken."""
        loss = self.question.loss
        assert isinstance(loss, Loss)  # else the question is special

        def slope(output: float, step: int) -> float | None:
            example = int(steps[step])
            z = torch.tensor([output], dtype=torch.float64)
            target = self.targets[example : example + 1]
            reason = refusal(z, target, loss)
            if reason is not None:
                rows.refuse(example, reason)
                return None
            return loss.output_slope(z, target).item()

        return slope
