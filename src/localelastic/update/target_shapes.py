"""Targets of another shape than the outputs, which PyTorch broadcasts without an error."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import Tensor, nn
from torch.nn import functional

from localelastic.errors import DataError

_ELEMENTWISE = (
    nn.MSELoss,
    nn.L1Loss,
    nn.SmoothL1Loss,
    nn.HuberLoss,
    nn.BCELoss,
    nn.BCEWithLogitsLoss,
    nn.PoissonNLLLoss,
    nn.SoftMarginLoss,
    functional.mse_loss,
    functional.l1_loss,
    functional.smooth_l1_loss,
    functional.huber_loss,
    functional.binary_cross_entropy,
    functional.binary_cross_entropy_with_logits,
    functional.poisson_nll_loss,
    functional.soft_margin_loss,
)
"""PyTorch's losses that compare an output with a target number by number."""


def aligned(output: Tensor, target: Tensor) -> Tensor:
    """The output as a column where the target is one: ``(n, 1)`` outputs have become ``(n,)``."""
    column = output.ndim == 1 and target.shape == (len(output), 1)
    return output[:, None] if column else output


def expect_one_shape(loss: Any, output: Tensor, target: Tensor) -> None:
    """Refuse targets that one of PyTorch's elementwise losses would broadcast.

    Raises:
        DataError: such targets.
    """
    output = aligned(output, target)
    if _is_elementwise(loss) and target.shape != output.shape:
        raise DataError(
            f"expected targets of the shape of the outputs, {tuple(output.shape)}, got "
            f"{tuple(target.shape)}, which PyTorch would broadcast to pairs that nobody means; "
            "give a target for each output, or pass a loss= of your own that says how they compare"
        )


def broadcast_note(loss: Any, output: Tensor, target: Any) -> str | None:
    """What to know of a loss of the user's whose targets have another shape; ``None`` if nothing.

    Such a loss may well know what it does, so it is not refused.

    Args:
        loss: of the step.
        output: ``(k, *out)`` of a few examples.
        target: ``(n, *target)`` of any number of examples, or ``None``.
    """
    own = callable(loss) and not _home(loss).startswith("torch.")
    if not (own and isinstance(target, Tensor) and target.is_floating_point()):
        return None
    goal, out = tuple(target.shape[1:]), tuple(output.shape[1:])
    if goal == out or (goal, out) == ((1,), ()):
        return None
    return (
        f"the loss compares outputs of shape {out} per example with targets of shape {goal}: "
        "unless it brings them to one shape itself, PyTorch broadcasts them over the batch"
    )


def _is_elementwise(loss: Any) -> bool:
    loss = loss.func if isinstance(loss, partial) else loss
    return any(loss is known or type(loss) is known for known in _ELEMENTWISE)


def _home(loss: Any) -> str:
    loss = loss.func if isinstance(loss, partial) else loss
    home = loss if hasattr(loss, "__qualname__") else type(loss)
    return f"{getattr(home, '__module__', None) or 'torch'}."
