"""The choice of a strategy, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from localelastic.change.gradient import Gradient
from localelastic.change.replay import Replay
from localelastic.change.strategy import Strategy
from localelastic.trajectory import Trajectory

DEFAULT_LR = 0.01


@dataclass(frozen=True)
class Choice:
    """A strategy, and in words why it was taken."""

    strategy: Strategy
    why: str


@dataclass(frozen=True)
class Auto:
    """Takes the fastest strategy that answers the question as asked.

    ========== ============ ==================================================================
    trajectory ``lr`` given strategy
    ========== ============ ==================================================================
    frozen     no           ``Gradient``: the limit of small steps, without their rounding
    frozen     yes          ``Replay``: a finite step was asked for
    sequential either       ``Replay``: the weights move by real steps (``lr`` 0.01 if not given)
    ========== ============ ==================================================================

    Args:
        lr: step size, or ``None`` if any small step will do.
        dtype: precision of the measurement; the model's own if ``None``.
    """

    lr: float | None = None
    dtype: torch.dtype | None = None

    def finite(self) -> Replay:
        """The oracle, whatever the trajectory."""
        return Replay(DEFAULT_LR if self.lr is None else self.lr, self.dtype)

    def choose(self, trajectory: Trajectory) -> Choice:
        """The strategy for this trajectory."""
        if self.lr is not None:
            return Choice(self.finite(), f"a finite step of lr={self.lr:g} was asked for")
        if trajectory.moves:
            return Choice(self.finite(), f"the weights move by real steps of lr={DEFAULT_LR:g}")
        why = "frozen weights and no step size: the limit of small steps, without rounding"
        return Choice(Gradient(self.dtype), why)
