"""What to know of a model before measuring it, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from localelastic.errors import SettingError
from localelastic.measure.checks import Finding, Look
from localelastic.measure.resolve import (
    PredictionLike,
    as_examples,
    expect_function,
    question_for,
)
from localelastic.models import Forward
from localelastic.trajectory import Frozen
from localelastic.update import (
    LossLike,
    Mode,
    OptimizerLike,
    Replica,
)


@dataclass(frozen=True)
class Preflight:
    """All findings; prints as lines.

    Args:
        findings: in the order of the checks.
    """

    findings: tuple[Finding, ...]

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What makes numbers doubtful."""
        return tuple(found for found in self.findings if found.level == "warning")

    def __str__(self) -> str:
        width = max(len(found.check) for found in self.findings)
        return "\n".join(f"{f.level:>7}  {f.check:<{width}}  {f.found}" for f in self.findings)


@torch.inference_mode(mode=False)
def preflight(
    model: nn.Module,
    examples: Any,
    *,
    step_on: Sequence[str] | None = None,
    loss: LossLike = None,
    optimizer: OptimizerLike = None,
    lr: float | None = None,
    prediction: PredictionLike = None,
    call: Callable[[nn.Module, Any], Any] | None = None,
    select: Callable[[Any], Tensor] | None = None,
    mode: Mode = None,
    dtype: torch.dtype | None = None,
    batch_size: int = 500,
) -> Preflight:
    """Look at a model before measuring it: can its numbers be trusted, and what will it cost?

    Arguments are those of :func:`prediction_change`; nothing of the caller's is changed.

    Args:
        model: any module.
        examples: ``Examples``, or inputs; the first few are predicted several times.
        step_on: ids of the examples to be stepped on; the first if ``None``.
        loss: of the step.
        optimizer: whose step is taken.
        lr: step size of plain SGD.
        prediction: what is watched.
        call: ``call(model, inputs)``.
        select: the output among what the model returns.
        mode: ``None``, ``"eval"`` or ``"train"``.
        dtype: precision of the measurement.
        batch_size: probes per forward pass.

    Raises:
        InputError: what the measurement itself would refuse.
    """
    expect_function(loss=loss, optimizer=optimizer, prediction=prediction, call=call, select=select)
    held, forward = as_examples(examples, "examples"), Forward(call, select)
    if step_on is not None:
        _expect_ids(step_on, held.ids)
    replica = Replica(
        model,
        optimizer=optimizer,
        lr=lr,
        dtype=dtype,
        batch_size=batch_size,
        forward=forward,
        mode=mode,
    )
    question, _ = question_for(
        model,
        replica,
        held,
        loss=loss,
        prediction=prediction,
        trajectory=Frozen(),
        optimizer=optimizer,
        forward=forward,
        mode=mode,
    )
    look = Look(replica, held, question, step_on)
    return Preflight(tuple(look.all()))


def _expect_ids(step_on: Sequence[str], ids: tuple[str, ...]) -> None:
    if isinstance(step_on, str) or not isinstance(step_on, Sequence) or not step_on:
        raise SettingError(
            f"expected step_on to be a list of ids, such as [{ids[0]!r}], got {step_on!r}"
        )
    known = set(ids)
    for name in step_on:
        if name not in known:
            raise SettingError(
                f"expected step_on to be ids of the {len(ids)} examples, got {name!r}; "
                f"they are such as {ids[0]!r}"
            )
