"""How large a step gradient descent can take before the loss grows instead of falling."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from localelastic.models.losses import Loss
from localelastic.models.output import outputs_of
from localelastic.shapes import Inputs, PerExample

_ROUNDS, _CLOSE = 20, 0.01


def sharpness(model: nn.Module, inputs: Inputs, targets: PerExample, *, loss: Loss) -> float:
    """The largest eigenvalue of the Gauss-Newton matrix of the mean loss, by power iteration.

    ``G = J^T diag(d2L/dz2) J / n`` with ``J`` the derivative of the outputs by the trainable
    weights. Plain gradient descent is stable, to second order, for steps below ``2 / sharpness``;
    with momentum ``b`` below ``2 (1 + b) / sharpness``.

    Args:
        model: one output per example, in the mode it is to be trained in; unchanged.
        inputs: ``(n, *shape)``; a few hundred examples are enough.
        targets: ``(n,)``.
        loss: whose curvature in the output counts.

    Example:
        For ``f = w x`` and the squared loss it is the mean of ``x^2``:

        >>> from localelastic.models import SquaredLoss
        >>> x = torch.tensor([[1.0], [3.0]])
        >>> round(sharpness(nn.Linear(1, 1, bias=False), x, torch.ones(2), loss=SquaredLoss()), 6)
        5.0
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    # Attention's fused kernels have no second derivative.
    with torch.enable_grad(), sdpa_kernel(SDPBackend.MATH):
        outputs = outputs_of(model, inputs)
        leaf = outputs.detach().requires_grad_()
        slopes = torch.autograd.grad(loss.value(leaf, targets).sum(), leaf, create_graph=True)[0]
        curvature = torch.autograd.grad(slopes.sum(), leaf)[0].sqrt()
        # J^T v is linear in v: its derivative by v, along u, is J u. No forward mode needed.
        dual = torch.zeros_like(leaf, requires_grad=True)
        pulled = torch.autograd.grad(
            outputs, parameters, dual, create_graph=True, allow_unused=True
        )
    used = [rows for rows in pulled if rows is not None]
    vector = torch.ones_like(leaf) / len(leaf) ** 0.5
    largest = 0.0
    for _ in range(_ROUNDS):
        weighted = curvature * vector
        along = torch.autograd.grad(
            outputs, parameters, weighted, retain_graph=True, allow_unused=True
        )
        back = torch.autograd.grad(
            used, dual, [rows for rows in along if rows is not None], retain_graph=True
        )[0]
        vector = curvature * back / len(leaf)
        before, largest = largest, float(vector.norm())
        if abs(largest - before) <= _CLOSE * largest:
            break
        vector = vector / largest
    return largest
