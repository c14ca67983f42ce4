"""A private copy of a model that predicts, steps and goes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from localelastic.data.nested import described, leaves, length, mapped, rows_of
from localelastic.errors import LocalElasticError, ModelError, SettingError, expect_whole
from localelastic.models import PLAIN, Forward, check_differentiable
from localelastic.update.gradients import gradients
from localelastic.update.modes import Mode, set_mode
from localelastic.update.objective import Objective, StepRefusedError
from localelastic.update.optimizer import (
    OptimizerLike,
    convert_state,
    copied_with,
    parameters_of,
    rebound,
)
from localelastic.update.repeatable import repeatable

_PRECISIONS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
"""In which a model can be computed; those of eight bits only store numbers."""


class Replica:
    """A private copy of a model that can predict, take a step, and go back to where it was.

    Each forward pass, of a step too, draws the same random numbers and leaves the buffers as they
    were: what changes between two predictions is the work of the weights alone, also with dropout
    and running statistics. The global random state is untouched.

    Args:
        model: any module with at least one trainable parameter.
        optimizer: whose step is taken, with the state it has; see :data:`OptimizerLike`.
        lr: step size of plain SGD, instead of an optimizer.
        dtype: of the copy's weights and inputs; the model's own if ``None``.
        batch_size: examples per forward pass; the same before and after a step, because two
            batchings can differ by rounding.
        forward: how the model is called and what of it is the output.
        mode: see :data:`localelastic.update.modes.Mode`.

    Raises:
        ModelError: every parameter is frozen, or the model cannot be copied.
        SettingError: a setting out of its range.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        optimizer: OptimizerLike = None,
        lr: float | None = None,
        dtype: torch.dtype | None = None,
        batch_size: int = 500,
        forward: Forward = PLAIN,
        mode: Mode = None,
    ) -> None:
        if not isinstance(model, nn.Module):
            raise ModelError(f"expected a torch.nn.Module, got {type(model).__name__}")
        if dtype is not None and dtype not in _PRECISIONS:
            known = ", ".join(map(str, _PRECISIONS))
            raise SettingError(f"expected a dtype of {known} or None, got {dtype!r}")
        expect_whole(batch_size, "batch_size", 1)
        if any(isinstance(p, nn.UninitializedParameter) for p in model.parameters()):
            raise ModelError(
                "expected a model with all its weights, got lazy layers that have none yet; "
                "run it once on an example"
            )
        self.model, self.optimizer = copied_with(model, optimizer, lr)
        set_mode(self.model, mode)
        if dtype is not None:
            self.model.to(dtype)
            convert_state(self.optimizer, dtype)
        everything = [p for p in self.model.parameters() if p.is_floating_point()]
        every_other = [p for p in parameters_of(self.optimizer) if dtype and p.is_floating_point()]
        for parameter in every_other:  # tensors that the model has not registered
            parameter.data = parameter.data.to(dtype)
        for parameter in (*self.model.parameters(), *parameters_of(self.optimizer)):
            parameter.grad = None
        self.parameters = [p for p in parameters_of(self.optimizer) if p.requires_grad]
        self._dtype = everything[0].dtype if len({p.dtype for p in everything}) == 1 else None
        self.writes_weights = False
        """Whether a forward pass has changed a parameter, as embeddings with ``max_norm`` do."""
        self._batch_size, self.forward = batch_size, forward
        self.output_dtype = everything[0].dtype if everything else torch.get_default_dtype()
        self._start = [parameter.detach().clone() for parameter in self.parameters]

    @property
    def device(self) -> torch.device:
        """Where the trainable weights live."""
        return self.parameters[0].device

    def place(self, values: Any) -> Any:
        """Inputs or targets on the copy's device; numbers that are not whole in its one dtype."""

        def placed(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            leaf = leaf.detach()
            return leaf.to(self.device, self._dtype if leaf.is_floating_point() else None)

        return mapped(placed, values)

    def outputs(
        self,
        inputs: Any,
        keep: Callable[[Tensor, Any], Tensor] | None = None,
        targets: Any = None,
        batch_size: int | None = None,
    ) -> Tensor:
        """The output of each example at the current weights, without a gradient.

        Args:
            inputs: already placed.
            keep: what to keep of outputs and targets of a batch; all of the output if ``None``.
            targets: for ``keep``.
            batch_size: the copy's own if ``None``.

        Raises:
            ModelError: the model fails on these inputs; its own error is the cause.
        """
        size, versions = batch_size or self._batch_size, self._versions()
        with torch.no_grad():
            blocks = []
            for start in range(0, length(inputs), size):
                rows = slice(start, start + size)
                with repeatable(self.model):
                    block = self._forward(rows_of(inputs, rows))
                    self.output_dtype = block.dtype
                    if keep is not None:
                        some = None if targets is None else rows_of(targets, rows)
                        block = keep(block.double(), some)
                blocks.append(block)
            self.writes_weights |= self._versions() != versions
            return torch.cat(blocks)

    def _forward(self, inputs: Any) -> Tensor:
        """The output, or what the model says against these inputs."""
        try:
            return self.forward(self.model, inputs)
        except (LocalElasticError, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            raise ModelError(
                f"the model failed on inputs of {described(inputs)}: {type(error).__name__}: "
                f"{' '.join(str(error).split())}; give inputs of the shape and kind that it takes"
                f"{_floating(inputs)}, or a call= of your own"
            ) from error

    def _versions(self) -> list[int]:
        """Counts of the writes into every parameter."""
        return [p._version for p in self.model.parameters() if not p.is_inference()]

    def draws(self, inputs: Any) -> bool:
        """Whether a forward pass draws random numbers, as dropout does."""
        with torch.no_grad(), repeatable(self.model):
            before = torch.get_rng_state()
            self.forward(self.model, inputs)
            return not torch.equal(before, torch.get_rng_state())

    def step(self, inputs: Any, targets: Any, objective: Objective) -> float:
        """One step of the optimizer at some examples (eq. 1); the loss before it.

        Raises:
            StepRefusedError: the loss is not finite: such a step would spoil the weights.
            ModelError: the output does not depend on what the optimizer moves.
        """
        optimizer = rebound(self.optimizer)
        losses: list[float] = []

        def closure() -> Tensor:
            optimizer.zero_grad()
            with torch.enable_grad(), repeatable(self.model):
                raw = self.forward.raw(self.model, inputs)
                output = self.forward.output(raw, length(inputs))
                loss = objective.of(raw, output, targets)
                check_differentiable(loss)
                if not losses and not torch.isfinite(loss):
                    raise StepRefusedError("the loss is not finite: step refused")
                losses.append(loss.item())
                for p, slope in zip(self.parameters, gradients(loss, self.parameters), strict=True):
                    p.grad = slope
            return loss.detach()

        try:
            with repeatable(self.model):  # an optimizer may draw noise
                optimizer.step(closure)  # type: ignore[arg-type]  # PyTorch's own return a tensor
        finally:
            optimizer.zero_grad()
        return losses[0]

    def move(self) -> list[Tensor]:
        """``w+ - w`` of every parameter that can move."""
        return [
            (p.detach().to(wide(p)) - start.to(wide(p))).to(p.dtype)
            for p, start in zip(self.parameters, self._start, strict=True)
        ]

    def moved_share(self) -> float:
        """The share of weights that the step changed at all: rounding can leave many alone."""
        changed = sum(
            int((p.detach() != start).sum())
            for p, start in zip(self.parameters, self._start, strict=True)
        )
        return changed / sum(p.numel() for p in self.parameters)

    def restore(self) -> None:
        """Back to the weights the copy was made with."""
        with torch.no_grad():
            for parameter, start in zip(self.parameters, self._start, strict=True):
                parameter.copy_(start)


def _floating(inputs: Any) -> str:
    """The usual way out where numbers are whole."""
    whole = [x for x in leaves(inputs) if isinstance(x, Tensor) and not x.is_floating_point()]
    return " (inputs.float() makes whole numbers floating point)" if whole else ""


def wide(values: Tensor) -> torch.dtype:
    """The widest precision of the kind of numbers."""
    return torch.complex128 if values.is_complex() else torch.float64
