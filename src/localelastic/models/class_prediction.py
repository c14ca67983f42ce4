"""Predictions of models with an output per class, or per token and word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Shaped
from torch import Tensor

from localelastic.errors import DataError, SettingError, expect_whole
from localelastic.models.prediction import Prediction
from localelastic.models.softmax import log_probability_change

Targets = Shaped[Tensor, "n *target"] | None

IGNORED = -100
"""The target of a token that is not part of the answer, as PyTorch's cross-entropy has it."""


@dataclass(frozen=True)
class Logits(Prediction):
    """All outputs of the model, as they are: one change per class."""

    name = "logits"

    def of(self, output: Tensor, target: Targets = None) -> Tensor:
        """The outputs, flattened to ``(n, c)``."""
        return output.flatten(1) if output.ndim > 1 else output

    def change(self, output: Tensor, shift: Tensor, target: Targets = None) -> Tensor:
        """The shift."""
        return self.of(shift)


@dataclass(frozen=True)
class OneClass(Prediction):
    """The logit of one class.

    Args:
        index: the class, counted from 0.

    Raises:
        SettingError: no whole number.
    """

    index: int
    name = "one class"

    def __post_init__(self) -> None:
        expect_whole(self.index, "the class of OneClass")

    def of(self, output: Tensor, target: Targets = None) -> Tensor:
        """``z_k``.

        Raises:
            SettingError: the model has no such class.
        """
        classes = _expect_classes(output, self.name)
        if not 0 <= self.index < classes:
            raise SettingError(f"expected a class from 0 to {classes - 1}, got {self.index}")
        return output[:, self.index]

    def change(self, output: Tensor, shift: Tensor, target: Targets = None) -> Tensor:
        """``u_k``."""
        return self.of(shift)


@dataclass(frozen=True)
class LogProbability(Prediction):
    """``log p`` of each example's target class, in nats; a higher one is better."""

    name = "log-probability"
    needs_target = True

    def of(self, output: Tensor, target: Targets = None) -> Tensor:
        """``log p_y``.

        Raises:
            DataError: targets that are not classes of this model.
        """
        return _picked(output.log_softmax(1), _expect_labels(output, target, self.name))

    def check(self, output: Tensor, target: Targets = None) -> None:
        """Refuse targets that are not classes of this model, the ignored class too."""
        _expect_labels(output, target, self.name)

    def change(self, output: Tensor, shift: Tensor, target: Targets = None) -> Tensor:
        """Of the target's ``log p``."""
        labels = _expect_labels(output, target, self.name)
        return _picked(log_probability_change(output, shift), labels)


@dataclass(frozen=True)
class AnswerLogProbability(Prediction):
    """Summed ``log p`` of the answer's tokens in a causal language model, in nats.

    Targets are the tokens ``(n, length)``, with -100 at those that are not of the answer; the
    output at one place predicts the token at the next.
    """

    name = "answer log-probability"
    needs_target = True

    def of(self, output: Tensor, target: Targets = None) -> Tensor:
        """``sum_t log p(token_t | before)``.

        Raises:
            DataError: outputs or targets that are not of tokens.
        """
        shape = tuple(output.shape[:2])
        if output.ndim != 3 or target is None or tuple(target.shape) != shape:
            got = None if target is None else tuple(target.shape)
            raise DataError(
                "the answer's log-probability expects outputs (n, length, words) and target tokens "
                f"(n, length), got {tuple(output.shape)} and {got}"
            )
        target = target[:, 1:]
        answer = target != IGNORED
        if not answer.any(1).all():
            raise DataError("expected an answer token (a target other than -100) in every example")
        place = torch.where(answer, target, 0)
        log_p = output[:, :-1].log_softmax(2).gather(2, place[:, :, None]).squeeze(2)
        return torch.where(answer, log_p, 0).sum(1)

    def kept(self, output: Tensor, target: Targets = None) -> Tensor:
        """The sum: outputs of all words at all places would fill the memory."""
        return self.of(output, target)

    def value(self, kept: Tensor, target: Targets = None) -> Tensor:
        """What was kept."""
        return kept

    def change(self, output: Tensor, shift: Tensor, target: Targets = None) -> Tensor:
        """The shift of the sum."""
        return shift


@dataclass(frozen=True)
class Custom(Prediction):
    """A function of the output, ``(n, *out)`` to ``(n,)`` or ``(n, c)``, differentiable.

    Args:
        function: ``function(output)``.
    """

    function: Callable[[Tensor], Tensor]

    @property
    def name(self) -> str:  # type: ignore[override]
        """What the function is called."""
        return getattr(self.function, "__name__", "custom")

    def of(self, output: Tensor, target: Targets = None) -> Tensor:
        """The function's value.

        Raises:
            SettingError: it is not a tensor with one row per example.
        """
        value = self.function(output)
        if not isinstance(value, Tensor) or value.ndim == 0 or len(value) != len(output):
            got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise SettingError(
                f"expected the prediction {self.name} to give one row per example, "
                f"{len(output)} rows, got {got}"
            )
        if not value.is_floating_point():
            raise SettingError(
                f"expected the prediction {self.name} to give numbers that a step can move, got "
                f"{value.dtype}; return scores rather than decisions"
            )
        return value.flatten(1) if value.ndim > 2 else value

    def kept(self, output: Tensor, target: Targets = None) -> Tensor:
        """The value."""
        return self.of(output, target)

    def value(self, kept: Tensor, target: Targets = None) -> Tensor:
        """What was kept."""
        return kept

    def change(self, output: Tensor, shift: Tensor, target: Targets = None) -> Tensor:
        """The shift of the value."""
        return shift


def _picked(values: Tensor, labels: Tensor) -> Tensor:
    return values.gather(1, labels[:, None].long()).squeeze(1)


def _expect_classes(output: Tensor, name: str) -> int:
    if output.ndim != 2:
        raise SettingError(
            f"the prediction {name} expects an output per class, (n, classes), got shape "
            f"{tuple(output.shape)}; watch the scalar, or pass a function of the output"
        )
    return output.shape[1]


def _expect_labels(output: Tensor, target: Targets, name: str) -> Tensor:
    classes = _expect_classes(output, name)
    if target is None or not are_labels(target):
        got = "none" if target is None else f"{target.dtype} of shape {tuple(target.shape)}"
        way = "; pass targets.long()" if target is not None and target.dtype == torch.bool else ""
        raise DataError(
            f"the prediction {name} expects a target class per example, whole numbers from 0 to "
            f"{classes - 1} in a tensor, got {got}{way}"
        )
    check_labels(target, classes)
    ignored = target == IGNORED
    if ignored.any():
        raise DataError(
            f"the prediction {name} expects a class of each example, got {IGNORED} (ignored) at "
            f"{int(ignored.sum())} of {len(target)} examples, the first at position "
            f"{int(ignored.nonzero()[0])}; leave them out, or watch the logits"
        )
    return target


def are_labels(target: object) -> bool:
    """Whether targets are a class per example: a row of whole numbers, which bools are not."""
    if not isinstance(target, Tensor) or target.ndim != 1:
        return False
    return not (target.is_floating_point() or target.is_complex() or target.dtype == torch.bool)


def check_labels(target: Tensor, classes: int) -> None:
    """Refuse classes that the model does not have; the ignored class is let through.

    Raises:
        DataError: a label out of range.
    """
    wrong = target[(target < 0) | (target >= classes)]
    wrong = wrong[wrong != IGNORED]
    if len(wrong):
        raise DataError(
            f"expected target classes from 0 to {classes - 1}, got {wrong[0].item()}; "
            "count classes from 0, or give the model an output for each"
        )
