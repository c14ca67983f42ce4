"""The choice of a strategy, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn

from localelastic.change.gradient import Gradient
from localelastic.change.replay import Replay
from localelastic.change.strategy import Strategy
from localelastic.change.two_layer import ClosedForm
from localelastic.models import two_layer
from localelastic.trajectory import Trajectory

DEFAULT_LR = 0.01


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
    sequential either       two dense     ``ClosedForm`` (``lr`` 0.01 if not given)
    sequential either       any other     ``Replay`` (``lr`` 0.01 if not given)
    ========== ============ ============= =====================================================

    "Two dense" is what :func:`localelastic.models.two_layer` accepts.

    Args:
        lr: step size, or ``None`` if any small step will do.
        dtype: precision of the measurement; the model's own if ``None``.
    """

    lr: float | None = None
    dtype: torch.dtype | None = None

    def choose(self, model: nn.Module, trajectory: Trajectory) -> Choice:
        """The strategy for this model and trajectory."""
        if self.lr is None and not trajectory.moves:
            why = "frozen weights and no step size: the limit of small steps, without rounding"
            return Choice(Gradient(self.dtype), why)
        lr = DEFAULT_LR if self.lr is None else self.lr
        asked = f"real steps of lr={lr:g}" if trajectory.moves else f"a finite step of lr={lr:g}"
        layers = two_layer(model)
        if isinstance(layers, str):
            return Choice(Replay(lr, self.dtype), f"{asked}, and {layers}: no closed form")
        return Choice(
            ClosedForm(lr, self.dtype), f"{asked} on two dense layers: exact without taking them"
        )


def choice_of(strategy: Strategy | Auto, model: nn.Module, trajectory: Trajectory) -> Choice:
    """What ``Auto`` chooses, or the strategy that was asked for."""
    if isinstance(strategy, Auto):
        return strategy.choose(model, trajectory)
    return Choice(strategy, "as asked")
