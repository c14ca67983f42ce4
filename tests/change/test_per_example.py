"""Per-example gradients: batched and one at a time are equal, and the reason is given."""

from __future__ import annotations

import re

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from localelastic.change.per_example import PerExample, one_at_a_time
from localelastic.models import outputs_of
from worlds import awkward_networks, fingerprint, points


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.readout = nn.GRU(2, 3, batch_first=True), nn.Linear(3, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(self.cell(inputs.reshape(-1, 3, 2))[0][:, -1])


class Decides(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(6, 1), nn.Linear(6, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.up(inputs) if inputs.mean().item() > 0 else self.down(inputs)


class Checkpointed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden, self.readout = nn.Linear(6, 4), nn.Linear(4, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        inputs = inputs.requires_grad_()
        return self.readout(checkpoint(self.hidden, inputs, use_reentrant=True).tanh())


class Centred(nn.Module):
    """Subtracts the mean of the batch: no gradient is that of one example."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layer(inputs - inputs.mean(0) / 2).squeeze(1)


def hooked() -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 3), nn.Tanh(), nn.Linear(3, 1))
    model[2].register_full_backward_hook(lambda *_: None)
    return model


PLAIN = {
    "recurrent": (Recurrent, "RuntimeError"),
    "decides": (Decides, "item"),
    "checkpointed": (Checkpointed, "checkpoint|RuntimeError"),
    "hooked": (hooked, "Linear '2' carries a backward hook"),
}


def made(build) -> tuple[nn.Module, list[nn.Parameter]]:
    torch.manual_seed(0)
    model = build().double()
    return model, list(model.parameters())


def bare(model: nn.Module, inputs: Tensor) -> list[Tensor]:
    """The gradient at each example, by ``backward``."""
    rows = []
    for one in inputs.split(1):
        model.zero_grad()
        outputs_of(model, one).sum().backward()
        rows.append(
            [
                (torch.zeros_like(p) if p.grad is None else p.grad).flatten().clone()
                for p in model.parameters()
            ]
        )
    model.zero_grad()
    return [torch.stack(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("name", PLAIN)
def test_models_that_cannot_be_batched_say_why(name):
    build, reason = PLAIN[name]
    model, parameters = made(build)
    inputs = points(5, (6,))
    expected, before = bare(model, inputs), fingerprint(model)
    found = PerExample(model, parameters, inputs[:3])
    assert found.way.startswith("per-example gradients, one at a time (")
    assert re.search(reason, found.way)
    for ours, theirs in zip(found.of(inputs), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
    assert fingerprint(model) == before


@pytest.mark.parametrize("name", awkward_networks())
def test_batched_equals_one_at_a_time(name):
    model, shape = awkward_networks()[name]
    parameters = [p for p in model.parameters() if p.requires_grad]
    inputs = points(6, shape)
    found = PerExample(model, parameters, inputs[:3])
    assert found.way == "per-example gradients, batched"
    expected = one_at_a_time(model, parameters, inputs)
    for ours, theirs in zip(found.of(inputs), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-13)


def test_inputs_of_several_tensors():
    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 1)

        def forward(self, left: Tensor, right: Tensor) -> Tensor:
            return self.layer(left).tanh() + self.layer(right)

    model, parameters = made(Sum)
    inputs = {"left": points(4, (6,)), "right": points(4, (6,), seed=1)}
    found = PerExample(model, parameters, inputs)
    assert found.why_not is None
    expected = one_at_a_time(model, parameters, inputs)
    for ours, theirs in zip(found.of(inputs), expected, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)
