"""The first order of a step that was taken: ``<df(x')/dw, w+ - w>`` at every probe.

The move ``w+ - w`` is that of the optimizer itself, so its momentum and preconditioning are in it;
what is left out is that ``f`` is not linear in the weights.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from localelastic.data.nested import length, rows_of
from localelastic.errors import SettingError
from localelastic.models import Prediction
from localelastic.shapes import Progress, silent
from localelastic.update import Replica, gradients, repeatable


def first_order(
    replica: Replica,
    inputs: Any,
    targets: Any,
    prediction: Prediction,
    move: list[Tensor],
    *,
    batch_size: int = 100,
    progress: Progress = silent,
) -> tuple[Tensor, str]:
    """The change of each prediction to first order in the move, and how it was computed.

    Forward-mode differentiation is not needed: ``J^T v`` is linear in ``v``, and its derivative by
    ``v`` along the move is ``J (w+ - w)``. Where a model cannot be differentiated twice (recurrent
    layers, checkpoints, sparse gradients), each prediction is differentiated by itself.

    Args:
        replica: at the weights before the step.
        inputs: probes, placed.
        targets: of the probes, for predictions that need them.
        prediction: what is watched.
        move: ``w+ - w`` of each parameter of the replica.
        batch_size: probes differentiated together.
        progress: told as probes are done.

    Returns:
        ``(m,)`` or ``(m, c)`` in float64, and the way in words.
    """
    blocks, way, m = [], "all probes of a batch at once", length(inputs)
    at_once = True
    for start in range(0, m, batch_size):
        rows = slice(start, start + batch_size)
        some = rows_of(inputs, rows), None if targets is None else rows_of(targets, rows)
        if at_once:
            try:
                blocks.append(_at_once(replica, *some, prediction, move))
            except RuntimeError as error:
                at_once = False
                way = f"one prediction at a time ({' '.join(str(error).split())[:120]})"
        if not at_once:
            blocks.append(_one_by_one(replica, *some, prediction, move))
        progress("first order", min(m, start + batch_size), m)
    return torch.cat(blocks), way


def _values(replica: Replica, inputs: Any, targets: Any, prediction: Prediction) -> Tensor:
    output = replica.forward(replica.model, inputs)
    values = prediction.of(output.double(), targets)
    if output.requires_grad and not values.requires_grad:
        raise SettingError(
            f"expected the prediction {prediction.name} to be differentiable, got values without a "
            "gradient; leave out detach() and comparisons, or pass first_order=False"
        )
    return values


def _inner(slope: Tensor, step: Tensor) -> Tensor:
    """The change along a step; of complex weights PyTorch's gradient is that of both parts."""
    return (slope.conj() * step).real.sum().double()


def _at_once(
    replica: Replica, inputs: Any, targets: Any, prediction: Prediction, move: list[Tensor]
) -> Tensor:
    # Attention's fused kernels have no second derivative.
    with torch.enable_grad(), repeatable(replica.model), sdpa_kernel(SDPBackend.MATH):
        values = _values(replica, inputs, targets, prediction)
        dual = torch.zeros_like(values, requires_grad=True)
        pulled = torch.autograd.grad(
            values, replica.parameters, dual, create_graph=True, allow_unused=True
        )
        if any(rows is None and step.any() for rows, step in zip(pulled, move, strict=True)):
            raise RuntimeError("a parameter that moved is hidden from the graph, or not used")
        along = [
            _inner(rows, step) for rows, step in zip(pulled, move, strict=True) if rows is not None
        ]
        if not along:
            return torch.zeros_like(values)
        found = torch.autograd.grad(torch.stack(along).sum(), dual, retain_graph=True)[0].detach()
        _check(values, found, replica, move)
        return found


def _check(values: Tensor, found: Tensor, replica: Replica, move: list[Tensor]) -> None:
    """Compare a random combination of the result with one plain backward pass.

    A backward pass of the user's that detaches is passed over without a word when it is
    differentiated once more.

    Raises:
        RuntimeError: they differ.
    """
    generator = torch.Generator().manual_seed(0)
    weights = torch.randn(values.shape, generator=generator, dtype=values.dtype).to(values.device)
    slopes = gradients((values * weights).sum(), replica.parameters)
    parts = [
        (slope.to_dense().conj() * step).real.double()
        for slope, step in zip(slopes, move, strict=True)
        if slope is not None
    ]
    expected = sum(float(part.sum()) for part in parts)
    scale = sum(float(part.abs().sum()) for part in parts)
    if abs(float((found * weights).sum()) - expected) > 1e-4 * scale:
        raise RuntimeError("differentiated twice, the model gives another derivative")


def _one_by_one(
    replica: Replica, inputs: Any, targets: Any, prediction: Prediction, move: list[Tensor]
) -> Tensor:
    with torch.enable_grad(), repeatable(replica.model):
        values = _values(replica, inputs, targets, prediction)
        total = torch.zeros_like(values).flatten()
        for i, value in enumerate(values.flatten()):
            slopes = gradients(value, replica.parameters, retain_graph=True)
            for slope, step in zip(slopes, move, strict=True):
                if slope is not None:
                    total[i] += _inner(slope.to_dense(), step)
        return total.view_as(values).detach()
