"""Fused steps take the same trajectory as autograd, also past the death of units."""

from __future__ import annotations

import pytest
import torch

from localelastic.models import Activation, CrossEntropy, SquaredLoss, ThreeLayer, TwoLayer
from localelastic.models.descent import ByAutograd, Fused, descent
from worlds import points


def run(make, model, loss, momentum, inputs, epochs=6, lr=0.01):
    targets = torch.tensor([1.0, loss.auxiliary_target] * 6, dtype=torch.float64)
    steps = make(model, inputs, loss=loss, lr=lr, momentum=momentum)
    losses = []
    for epoch in range(epochs):
        order = torch.randperm(12, generator=torch.Generator().manual_seed(epoch))
        losses += [steps.step(inputs[b], targets[b]) for b in order.split(5)]
        steps.epoch_ends()
    steps.finish()
    return torch.cat(losses), steps


def by_autograd(model, inputs, *, loss, lr, momentum):
    return ByAutograd(model, loss, lr, momentum)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("loss", [SquaredLoss(), CrossEntropy()])
@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize("span", [6, 4])
def test_fused_equals_autograd(span, activation, loss, momentum):
    """On inputs of all directions, and of few."""
    torch.manual_seed(0)
    inputs = points(12, (6,))
    if span < 6:
        inputs = inputs @ torch.randn(6, 4, dtype=torch.float64) @ torch.randn(4, 6).double()
    fast = TwoLayer((6,), width=40, activation=activation).double()
    plain = TwoLayer((6,), width=40, activation=activation).double()
    with torch.no_grad():
        fast.hidden.bias[:25] -= 2.0  # some units die on all examples, some only on most,
        if activation is Activation.RELU:  # and some live on one alone, and barely
            fast.hidden.bias[:6] = 0.05 - (inputs @ fast.hidden.weight[:6].T).amax(0)
    plain.load_state_dict(fast.state_dict())
    losses, steps = run(descent, fast, loss, momentum, inputs)
    expected, _ = run(by_autograd, plain, loss, momentum, inputs)
    assert isinstance(steps, Fused)
    torch.testing.assert_close(losses, expected)
    for ours, theirs in zip(fast.parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs)
        assert ours.grad is None
    pruned = activation is Activation.RELU and momentum == 0
    assert (len(steps._alive) < 40) == pruned
    if activation is Activation.IDENTITY:
        assert len(steps._b) == span + 2
    assert steps._w.shape[1] == span


def test_others_take_autograd():
    steps = descent(
        ThreeLayer((6,), width=3), points(2, (6,)), loss=SquaredLoss(), lr=0.1, momentum=0.0
    )
    assert isinstance(steps, ByAutograd)
