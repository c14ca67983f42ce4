"""What a network is trained on and stepped on: inputs of both sides with their coded targets."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from localelastic.data.examples import Examples
from localelastic.errors import DataError
from localelastic.models.losses import Loss
from localelastic.shapes import Inputs, PerExample


@dataclass(frozen=True, eq=False)
class Coded:
    """Primary examples first, then auxiliary ones: ``0 .. n-1`` are primary."""

    inputs: Inputs
    targets: PerExample
    n_primary: int


def code(primary: Examples, auxiliary: Examples | None, loss: Loss) -> Coded:
    """Both sides with a target each: their own where they carry one, else the loss's coding.

    Raises:
        DataError: a target the loss is not defined for, or sides whose inputs differ in shape.
    """
    sides = [(primary, loss.primary_target)]
    if auxiliary is not None:
        sides.append((auxiliary, loss.auxiliary_target))
        if auxiliary.shape != primary.shape:
            raise DataError(
                "expected primary and auxiliary inputs of one shape, "
                f"got {primary.shape} and {auxiliary.shape}"
            )
    targets = torch.cat([_targets(side, target, loss) for side, target in sides])
    inputs = torch.cat([side.inputs for side, _ in sides])
    return Coded(inputs.detach(), targets.detach(), len(primary))


def _targets(examples: Examples, target: float, loss: Loss) -> PerExample:
    if examples.targets is None:
        return torch.full((len(examples),), target, dtype=examples.inputs.dtype)
    loss.check_targets(examples.targets)
    return examples.targets
