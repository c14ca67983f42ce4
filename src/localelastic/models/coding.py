"""What a network is trained on and stepped on: inputs of both sides with their coded targets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from localelastic.data.examples import Examples
from localelastic.data.nested import joined, mapped
from localelastic.errors import DataError
from localelastic.models.losses import Loss
from localelastic.shapes import PerExample


@dataclass(frozen=True, eq=False)
class Coded:
    """Primary examples first, then auxiliary ones: ``0 .. n-1`` are primary."""

    inputs: Any
    targets: Any
    n_primary: int
    n: int


def code(primary: Examples, auxiliary: Examples | None, loss: Loss) -> Coded:
    """Both sides with a target each: their own where they carry one, else the loss's coding.

    Raises:
        DataError: a target the loss is not defined for, or sides whose inputs differ in shape.
    """
    sides = [(primary, loss.primary_target)]
    if auxiliary is not None:
        sides.append((auxiliary, loss.auxiliary_target))
    coded = [_targets(side, target, loss) for side, target in sides]
    return together([side for side, _ in sides], coded)


def as_given(primary: Examples, auxiliary: Examples | None) -> Coded:
    """Both sides with the targets that they carry, for losses that know no coding.

    Raises:
        DataError: a side without targets, or sides that differ in shape.
    """
    sides = [primary] if auxiliary is None else [primary, auxiliary]
    carried = [side.targets for side in sides if side.targets is not None]
    if len(carried) < len(sides) and carried:
        raise DataError("expected targets on both sides, or on neither, got them on one")
    return together(sides, carried)


def together(sides: list[Examples], targets: list[Tensor]) -> Coded:
    """One side after the other."""
    inputs = mapped(_detached, joined([side.inputs for side in sides]))
    both = torch.cat(targets).detach() if targets else None
    return Coded(inputs, both, len(sides[0]), sum(map(len, sides)))


def _detached(leaf: Any) -> Any:
    return leaf.detach() if isinstance(leaf, Tensor) else leaf


def _targets(examples: Examples, target: float, loss: Loss) -> PerExample:
    if examples.targets is None:
        return torch.full((len(examples),), target, dtype=torch.get_default_dtype())
    n, shape = len(examples), tuple(examples.targets.shape)
    if shape not in ((n,), (n, 1)):
        raise DataError(
            f"the {loss.name} loss expects one target per input, shape ({n},), got shape {shape}; "
            "pass a loss for several, such as torch.nn.functional.mse_loss"
        )
    targets = examples.targets.reshape(n)
    targets = targets if targets.is_floating_point() else targets.to(torch.get_default_dtype())
    loss.check_targets(targets)
    return targets
