"""What a step goes down: the loss of the examples stepped on, as one number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from localelastic.errors import DataError, LocalElasticError, SettingError
from localelastic.models import IGNORED, Loss, SquaredLoss, are_labels, check_labels, own_loss
from localelastic.update.target_shapes import aligned, expect_one_shape


class StepRefusedError(DataError):
    """A step that would spoil the weights, its loss is not finite; or that has no class."""


LossLike = Loss | Callable[[Tensor, Any], Tensor] | None


@dataclass(frozen=True)
class Objective:
    """The mean loss over the examples of a step.

    Args:
        loss: one of ours, ``loss(output, target)`` of PyTorch or your own, or ``None``: the loss
            that the model itself returns when it is given labels, cross-entropy where targets are
            classes, and the squared loss (section 2.2) where there is one output per example.
    """

    loss: LossLike = None

    def of(self, raw: Any, output: Tensor, target: Any) -> Tensor:
        """The loss at the output of one batch, a lone number.

        Raises:
            DataError: targets that do not fit the output.
            SettingError: no loss, or one that gives no number.
        """
        loss = self.loss
        if loss is None:
            own = own_loss(raw) if target is None else None
            if own is not None:
                return mean_of(own)
            loss = default_loss(output, target)
        if isinstance(loss, Loss):
            if output.ndim != 1:
                raise SettingError(
                    f"the {loss.name} loss expects one output per example, got shape "
                    f"{tuple(output.shape)}; pass a loss for several, such as "
                    "torch.nn.functional.cross_entropy"
                )
            goal = torch.full_like(output, loss.primary_target) if target is None else target
            goal = goal.reshape(-1) if goal.shape == (len(output), 1) else goal
            if goal.shape != output.shape:
                raise DataError(
                    f"expected one target per example, shape {tuple(output.shape)}, got "
                    f"{tuple(goal.shape)}"
                )
            loss.check_targets(goal)
            return mean_of(loss.value(output, goal.to(output.dtype)))
        if are_labels(target) and output.ndim == 2:
            check_labels(target, output.shape[1])
            target = target.long() if loss is functional.cross_entropy else target
            if (target == IGNORED).all():
                raise StepRefusedError(
                    f"expected a class to step towards, got {IGNORED} (ignored) at all "
                    f"{len(target)} examples stepped on: step refused"
                )
        if isinstance(target, Tensor):
            expect_one_shape(loss, output, target)
            output = aligned(output, target)
            target = target.clone()  # a loss may write into it
        try:
            return mean_of(loss(output, target))
        except LocalElasticError:
            raise
        except Exception as error:
            what = "none" if target is None else f"{target.dtype} of {tuple(target.shape)}"
            raise DataError(
                f"the loss could not be computed from outputs of shape {tuple(output.shape)} and "
                f"targets {what}: {type(error).__name__}: {error}"
            ) from error

    @property
    def name(self) -> str:
        """In words."""
        if self.loss is None:
            return "model's own loss"
        if isinstance(self.loss, Loss):
            return f"{self.loss.name} loss"
        word = getattr(self.loss, "__name__", type(self.loss).__name__).replace("_", " ")
        return word if "loss" in word.lower() else f"{word} loss"


def default_loss(output: Tensor, target: Any) -> Loss | Callable[[Tensor, Any], Tensor]:
    """The loss that fits outputs and targets.

    Raises:
        SettingError: none does without guessing.
    """
    if output.ndim == 1:
        return SquaredLoss()
    if are_labels(target) and output.ndim == 2:
        return functional.cross_entropy
    got = "no targets" if target is None else f"targets {target.dtype} {tuple(target.shape)}"
    raise SettingError(
        f"no loss was given, and none follows from outputs of shape {tuple(output.shape)} and "
        f"{got}; give targets (whole numbers for classes, targets.long()), or pass loss=, a "
        "function of both"
    )


def mean_of(values: Tensor) -> Tensor:
    """One number, however the loss was reduced.

    Raises:
        SettingError: it is not a number that can be differentiated.
    """
    if not isinstance(values, Tensor):
        raise SettingError(f"expected the loss to give a tensor, got {type(values).__name__}")
    if not values.is_floating_point():
        raise SettingError(
            f"expected a loss that a step can go down, got {values.dtype}; "
            "return a floating-point number made of scores rather than decisions"
        )
    return values.mean() if values.ndim else values
