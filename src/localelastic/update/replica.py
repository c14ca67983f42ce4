"""One real optimizer step, on a private copy: the caller's model is never touched."""

from __future__ import annotations

import copy
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from localelastic.errors import ModelError, SettingError
from localelastic.models import Loss, check_differentiable, outputs_of
from localelastic.shapes import Inputs, PerExample

_RANDOM = threading.RLock()


class Replica:
    """A private copy of a model that can predict, take a step, and go back to where it was.

    Sub-modules keep the mode (train or eval) that the caller's have. Each forward pass, of a step
    too, draws the same random numbers and leaves the buffers as they were: what changes between
    two predictions is the work of the weights alone, also with dropout and running statistics. The
    global random state is untouched.

    Args:
        model: one output per example, at least one trainable parameter.
        dtype: of the copy's weights and inputs; the model's own if ``None``.
        batch_size: examples per forward pass; the same before and after a step, because two
            batchings can differ by rounding.

    Raises:
        ModelError: every parameter is frozen, or the model cannot be copied.
    """

    def __init__(
        self, model: nn.Module, *, dtype: torch.dtype | None = None, batch_size: int = 500
    ) -> None:
        if not isinstance(model, nn.Module):
            raise ModelError(f"expected a torch.nn.Module, got {type(model).__name__}")
        if dtype is not None and not (isinstance(dtype, torch.dtype) and dtype.is_floating_point):
            raise SettingError(f"expected a floating-point torch.dtype or None, got {dtype!r}")
        try:
            self.model = copy.deepcopy(model)
        except Exception as error:
            raise ModelError(
                f"expected a model that can be copied, got {type(error).__name__}: {error}; "
                "detach tensors stored on the model that carry a gradient"
            ) from error
        if dtype is not None:
            self.model = self.model.to(dtype)
        self.parameters = [p for p in self.model.parameters() if p.requires_grad]
        if not self.parameters:
            raise ModelError(
                "expected at least one trainable parameter, got a model whose parameters are all "
                "frozen; set requires_grad on those that a step should move"
            )
        self._batch_size = batch_size
        self._start = [parameter.detach().clone() for parameter in self.parameters]

    @property
    def device(self) -> torch.device:
        """Where the trainable weights live."""
        return self.parameters[0].device

    def place(self, values: Tensor) -> Tensor:
        """Inputs or targets on the copy's device and in its dtype."""
        return values.to(self.device, self.parameters[0].dtype)

    def outputs(self, inputs: Inputs) -> PerExample:
        """The output of each example at the current weights, without a gradient."""
        with torch.no_grad():
            blocks = []
            for block in inputs.split(self._batch_size):
                with repeatable(self.model):
                    blocks.append(outputs_of(self.model, block))
            return torch.cat(blocks)

    def step(self, example: Inputs, target: PerExample, loss: Loss, lr: float) -> None:
        """``w+ = w - lr dL/dw`` (eq. 1) at one example, by ``torch.optim.SGD``."""
        optimizer = torch.optim.SGD(self.parameters, lr=lr)
        optimizer.zero_grad()
        with torch.enable_grad(), repeatable(self.model):
            outputs = outputs_of(self.model, example)
            check_differentiable(outputs)
            loss.value(outputs, target).sum().backward()
        optimizer.step()
        optimizer.zero_grad()

    def restore(self) -> None:
        """Back to the weights the copy was made with."""
        with torch.no_grad():
            for parameter, start in zip(self.parameters, self._start, strict=True):
                parameter.copy_(start)


@contextmanager
def repeatable(model: nn.Module) -> Iterator[None]:
    """The same random numbers each time, and buffers put back afterwards.

    The global random state is restored; one thread at a time, since it is shared by all.
    """
    buffers = [buffer.clone() for buffer in model.buffers()]
    try:
        with _RANDOM, torch.random.fork_rng():
            torch.manual_seed(0)
            yield
    finally:
        with torch.no_grad():
            for buffer, before in zip(model.buffers(), buffers, strict=True):
                if not torch.equal(buffer, before):  # untouched, it may serve a backward pass
                    buffer.copy_(before)
