"""The choice of a strategy, with its reason."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import torch

from localelastic.change.gradient import Gradient
from localelastic.change.replay import Replay
from localelastic.change.slope import has_slope
from localelastic.change.strategy import Question, Strategy
from localelastic.change.two_layer import ClosedForm
from localelastic.models import Loss, sharpness, two_layer
from localelastic.update import DEFAULT_LR, Replica

_SAMPLE = 20


@dataclass(frozen=True)
class Choice:
    """A strategy, and in words why it was taken."""

    strategy: Strategy
    why: str


@dataclass(frozen=True)
class Auto:
    """Takes the fastest strategy that is proven, by structure, to answer the question as asked.

    ========== ============ ============= =====================================================
    trajectory ``lr`` given network       strategy
    ========== ============ ============= =====================================================
    frozen     no           any           ``Gradient``: the limit of small steps, not rounded
    frozen     yes          two dense     ``ClosedForm``: the finite step, exact
    frozen     yes          any other     ``Replay``: a real step for each example
    sequential either       two dense     ``ClosedForm``
    sequential either       any other     ``Replay``
    ========== ============ ============= =====================================================

    An optimizer of its own, or a prediction that is a vector, always takes ``Replay``; inputs of
    several tensors, other losses and predictions of several outputs are never "two dense".

    "Two dense" is what :func:`localelastic.models.two_layer` accepts. A sequential trajectory needs
    a step size: without one it takes 0.01, or a quarter of what a step on a single example can be
    at these weights before it overshoots, where that is less; the reason says which.

    Args:
        lr: step size, or ``None`` if any small step will do.
        dtype: precision of the measurement; the model's own if ``None``.
        memory: bytes for :class:`Gradient` to work in.
    """

    lr: float | None = None
    dtype: torch.dtype | None = None
    memory: int | None = None

    def choose(self, question: Question) -> Choice:
        """The strategy for this question."""
        moves, lr, special = question.trajectory.moves, self.lr, question.special
        if question.optimizer is not None:
            return Choice(Replay(lr, self.dtype), f"real steps: {special}")
        if lr is None and not moves and not has_slope(question.loss, question.prediction):
            why = "no slope of the loss is known there, so real steps"
            return Choice(
                Replay(dtype=self.dtype), f"the prediction is {question.prediction.name}: {why}"
            )
        if lr is None and not moves:
            why = "frozen weights and no step size: the limit of small steps, without rounding"
            return Choice(Gradient(self.dtype, self.memory), why)
        if special is not None:
            lr = DEFAULT_LR if lr is None else lr
            return Choice(Replay(lr, self.dtype), f"real steps of lr={lr:g}: {special}")
        if lr is None:
            lr, why = _stable_lr(question)
        else:
            why = f"{'real steps' if moves else 'a finite step'} of lr={lr:g}"
        layers = two_layer(question.model)
        if isinstance(layers, str):
            return Choice(Replay(lr, self.dtype), f"{why}, and {layers}: no closed form")
        return Choice(
            ClosedForm(lr, self.dtype), f"{why} on two dense layers: exact without taking them"
        )


def _stable_lr(question: Question) -> tuple[float, str]:
    """A step size for single examples, and in words where it comes from."""
    task, loss = question.task, question.loss
    assert isinstance(loss, Loss)  # else the question is special
    replica = Replica(question.model)
    some = torch.arange(0, task.n, max(1, task.n // _SAMPLE))
    inputs, targets = replica.place(task.inputs[some]), replica.place(task.targets[some])
    steepest = max(
        sharpness(replica.model, one, target, loss=loss)
        for one, target in zip(inputs.split(1), targets.split(1), strict=True)
    )
    limit = 2 / steepest if steepest > 0 else inf
    if limit / 4 >= DEFAULT_LR:
        return DEFAULT_LR, f"real steps of lr={DEFAULT_LR:g}"
    lr = float(f"{limit / 4:.2g}")
    return lr, f"real steps of lr={lr:g}, a quarter of the stability limit of single steps"


def choice_of(strategy: Strategy | Auto, question: Question) -> Choice:
    """What ``Auto`` chooses, or the strategy that was asked for."""
    return strategy.choose(question) if isinstance(strategy, Auto) else Choice(strategy, "as asked")
