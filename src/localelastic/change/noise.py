"""The noise floor: how far predictions differ with no step between them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from localelastic.data.nested import length, rows_of
from localelastic.models import Prediction
from localelastic.update import Replica

SAMPLE = 16
"""Probes that are predicted again."""


def noise_floor(
    replica: Replica, inputs: Any, targets: Any, prediction: Prediction, before: Tensor
) -> Tensor:
    """A change below this is not told apart from no step at all, ``(m,)``.

    For every probe the largest of: the rounding of its own prediction in the precision of the
    outputs; and, over a few probes, what predicting them again gives, among the same others, among
    others, and two at a time (the same others only, where the model draws random numbers).

    Args:
        replica: at the weights of ``before``.
        inputs: probes, placed.
        targets: of the probes.
        prediction: what is watched.
        before: ``(m, *out)`` what the prediction keeps of the outputs, in float64.
    """
    # Spread over all probes, so that each batch is met.
    m = length(inputs)
    some = torch.linspace(0, m - 1, min(SAMPLE, m)).long().tolist()
    few = rows_of(inputs, some)
    goals = None if targets is None else rows_of(targets, some)
    again = replica.outputs(few, prediction.kept, goals, batch_size=len(some))
    pairs = [(again, replica.outputs(few, prediction.kept, goals, batch_size=len(some)))]
    if not replica.draws(few):  # with dropout the place in a batch decides on the mask
        by_twos = replica.outputs(few, prediction.kept, goals, batch_size=2)
        pairs += [(before[some], again), (again, by_twos)]
    repeated = max(float(size_of(prediction.change(a, b - a, goals)).max()) for a, b in pairs)
    resolution = torch.finfo(replica.output_dtype).eps
    error = before.abs() * resolution
    signs = torch.ones(before.shape[-1], device=before.device)
    signs[1::2] = -1  # a shift common to all logits would be no change of a probability
    rounding = size_of(prediction.change(before, error, targets))
    if before.ndim > 1:
        apart = size_of(prediction.change(before, error * signs, targets))
        rounding = torch.maximum(rounding, apart)
    return rounding.clamp(min=repeated)


def size_of(change: Tensor) -> Tensor:
    """``|change|`` of a number, the Euclidean length of a vector, ``(m,)``."""
    return change.abs() if change.ndim == 1 else change.flatten(1).norm(dim=1)
