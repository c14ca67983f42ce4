"""Exact finite steps of two-layer networks, without taking them: the closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor, nn

from localelastic.change.record import PredictionChange
from localelastic.change.rows import Rows, check_lr, refusal
from localelastic.change.strategy import Question, Strategy
from localelastic.errors import ModelError
from localelastic.models import Activation, Scalar, TwoLayer
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

    def changes(self, question: Question, progress: Progress) -> Iterator[PredictionChange]:
        """One record per pass.

        Raises:
            ModelError: the network is not one whose closed form is known.
        """
        layers = two_layer(question.model)
        if isinstance(layers, str):
            raise ModelError(
                f"the closed form is for two-layer networks, got one where {layers}; use Replay"
            )
        run = _Run(question, layers, self.lr, self.dtype or layers[0].weight.dtype)
        steps = run.moving if question.trajectory.moves else run.frozen
        return steps(progress)


Layers = tuple[nn.Linear, nn.Linear, Activation]

_ACTIVATIONS = {
    nn.ReLU: Activation.RELU,
    nn.Sigmoid: Activation.SIGMOID,
    nn.Identity: Activation.IDENTITY,
}
_CODES = {
    Activation.RELU: kernels.RELU,
    Activation.SIGMOID: kernels.SIGMOID,
    Activation.IDENTITY: kernels.IDENTITY,
}


def two_layer(model: nn.Module) -> Layers | str:
    """The two dense layers and the activation between them, or why the model is not of that kind.

    Proven by structure alone: the paper's ``TwoLayer``, or an ``nn.Sequential`` of an optional
    ``Flatten``, ``Linear``, an activation (none for a linear network) and ``Linear``; with every
    parameter trainable and in one precision, no hook, and nothing between the layers.
    """
    if type(model) is TwoLayer:
        layers: Layers = (model.hidden, model.readout, model.activation)
    elif type(model) is nn.Sequential:
        parts = [part for part in model if type(part) is not nn.Flatten]
        if any(part.start_dim != 1 for part in model if type(part) is nn.Flatten):
            return "a Flatten does not keep the examples apart"
        kinds = [type(part) for part in parts]
        if len(parts) == 2:
            parts.insert(1, nn.Identity())
            kinds.insert(1, nn.Identity)
        if len(parts) != 3 or kinds[0] is not nn.Linear or kinds[2] is not nn.Linear:
            return "the layers are not Linear, activation, Linear"
        if kinds[1] not in _ACTIVATIONS:
            return f"the activation is {kinds[1].__name__}, not ReLU, Sigmoid or Identity"
        layers = (parts[0], parts[2], _ACTIVATIONS[kinds[1]])  # type: ignore[assignment]
    else:
        return f"the model is a {type(model).__name__}"
    return _unfit(model, layers) or layers


def _unfit(model: nn.Module, layers: Layers) -> str | None:
    hidden, readout, _ = layers
    parameters = list(model.parameters())
    if hidden.bias is None or readout.bias is None:
        return "a layer has no bias"
    if len(parameters) != 4:
        return "layers share parameters or have more than weight and bias"
    if readout.out_features != 1:
        return "there is more than one output"
    if not all(p.requires_grad for p in parameters):
        return "some parameters are frozen"
    if (
        len({(p.dtype, p.device.type) for p in parameters}) > 1
        or parameters[0].device.type != "cpu"
    ):
        return "parameters are not all on the CPU in one precision"
    if parameters[0].dtype not in (torch.float32, torch.float64):
        return f"the weights are {parameters[0].dtype}"
    for module in model.modules():
        if module._forward_hooks or module._forward_pre_hooks or module._backward_hooks:
            return f"a {type(module).__name__} carries a hook"
    return None


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

    def moving(self, progress: Progress) -> Iterator[PredictionChange]:
        """Each pass starts where the one before ended."""
        start, n = self.start, self.n
        passes = self.question.trajectory.passes(n, len(self.inputs) - n)
        for number, order in enumerate(passes, start=1):
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
            start = walked.weights

    def frozen(self, progress: Progress) -> Iterator[PredictionChange]:
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
