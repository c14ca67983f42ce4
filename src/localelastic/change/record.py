"""What every strategy returns: the change of each prediction, never two predictions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localelastic.shapes import Mask, Rows, Vector


@dataclass(frozen=True, eq=False)
class Trust:
    """How far the steps of one pass stand out of noise and rounding, ``(n,)`` each.

    Args:
        below_floor: share of the probes whose change cannot be told from no step.
        moved_share: share of the weights that the step changed at all; ``None`` where weights keep
            moving.
    """

    below_floor: Vector
    moved_share: Vector | None


@dataclass(frozen=True, eq=False)
class Changes:
    """Changes caused by one pass of steps; row ``i`` is the step on primary example ``i``.

    Args:
        change: ``f(x', w+) - f(x', w)``, ``(n, m)``; rows without a meaning are zero and marked.
        self_change: the same at the example stepped on, ``(n,)``.
        unit: ``lr dL/df`` of each step, ``(n,)``: what the kernelized similarity divides by.
            First-order strategies give the change per unit step, with ``unit`` one.
        reasons: why a row has no meaning, or ``None`` where it has one.
        way: how they were computed, beyond the name of the strategy.
        trust: of real steps that were taken; a change that is computed is not rounded away.
    """

    change: Rows
    self_change: Vector
    unit: Vector
    reasons: tuple[str | None, ...]
    way: str = ""
    trust: Trust | None = None

    @property
    def valid(self) -> Mask:
        """Rows with a meaning."""
        return np.array([reason is None for reason in self.reasons], dtype=bool)
