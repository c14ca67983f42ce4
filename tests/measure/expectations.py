"""What awkward cases should give, by the bare loop and by autograd."""

from __future__ import annotations

import copy

import numpy as np
import torch
from bare import bare_loop
from torch import Tensor, optim
from torch.nn import functional

from localelastic import (
    Examples,
)


def seeded(build, *args, **named):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build(*args, **named).double()


def labels(n: int) -> Tensor:
    return torch.arange(n) % 3


def of_classes(inputs) -> Examples:
    return Examples.of(inputs, targets=labels(len(inputs)))


def expected(model, step_on, probes, *, lr=0.01, loss=functional.cross_entropy, watch=None):
    """By the bare loop, on a copy."""
    twin = copy.deepcopy(model)
    trainable = [p for p in twin.parameters() if p.requires_grad]
    watch = watch or (lambda z, y: z)
    return bare_loop(twin, optim.SGD(trainable, lr=lr), step_on, probes, loss, watch)


def near(found, wanted, rtol=1e-9):
    np.testing.assert_allclose(found, wanted, rtol=0, atol=rtol * np.abs(wanted).max() + 1e-15)


def gram(model, inputs) -> np.ndarray:
    """Inner products of gradients, one example at a time; leaves gradients."""
    rows = []
    for i in range(len(inputs)):
        model.zero_grad()
        raw = model(inputs[i : i + 1])
        (raw[0] if isinstance(raw, tuple) else raw).sum().backward()
        grads = [p.grad.to_dense().flatten() for p in model.parameters() if p.grad is not None]
        rows.append(torch.cat(grads))
    jacobian = torch.stack([row.double() for row in rows])
    return (jacobian @ jacobian.T).numpy()
