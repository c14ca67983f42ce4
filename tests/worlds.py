"""Small models and examples that several tests need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from localelastic.data.examples import Examples
from localelastic.models import CNN, Activation, ResNet, ThreeLayer, TwoLayer

IMAGE = (1, 16, 16)
VECTOR = (6,)


def unchecked(function: Callable[..., Any]) -> Callable[..., Any]:
    """As a user calls it: without the type checks of the tests, for what types cannot refuse."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function


def paper_networks() -> dict[str, tuple[nn.Module, tuple[int, ...]]]:
    """Each network of the paper, narrow, in float64, with the shape of its inputs."""
    torch.manual_seed(0)
    made: dict[str, tuple[nn.Module, tuple[int, ...]]] = {}
    for activation in Activation:
        for build in (TwoLayer, ThreeLayer, ResNet):
            network = build(VECTOR, width=7, activation=activation).double()
            made[f"{build.__name__}-{activation.value}"] = (network, VECTOR)
        made[f"CNN-{activation.value}"] = (
            CNN(IMAGE, width=9, activation=activation).double(),
            IMAGE,
        )
    return made


def points(n: int, shape: tuple[int, ...], seed: int = 0) -> Tensor:
    return torch.randn(
        n, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )


def examples(n: int, shape: tuple[int, ...] = VECTOR, seed: int = 0) -> Examples:
    return Examples.of(points(n, shape, seed))


class UsedTwice(nn.Module):
    """One dense layer applied twice, with an activation in place between."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.readout = nn.Linear(6, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(functional.relu(self.layer(functional.relu(self.layer(inputs), True))))


class Tied(nn.Module):
    """Two layers that share one weight, and a head that reads that weight directly."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6, bias=False)
        self.second.weight = self.first.weight

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = torch.tanh(self.second(torch.tanh(self.first(inputs))))
        return functional.linear(hidden, self.first.weight[:1])


class Sequence(nn.Module):
    """A layer whose first axis is time, not the example, and a norm."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm, self.readout = nn.Linear(2, 4), nn.LayerNorm(4), nn.Linear(4, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        by_time = inputs.reshape(len(inputs), 3, 2).transpose(0, 1)
        return self.readout(torch.relu(self.norm(self.layer(by_time))).sum(0)).squeeze(1)


class Tokens(nn.Module):
    """Dense layers over positions, as in a transformer's feed-forward part."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.readout = nn.Linear(2, 5), nn.Linear(5, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.readout(torch.tanh(self.layer(inputs.reshape(-1, 3, 2)))).mean(1)


class Convolutions(nn.Module):
    """Stride, padding, dilation and groups."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.second = nn.Conv2d(4, 4, 3, dilation=2, groups=2)
        self.third = nn.Conv2d(4, 3, 2, padding="same", bias=False)
        self.readout = nn.Linear(3, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = torch.relu(self.second(torch.relu(self.first(inputs))))
        return self.readout(self.third(hidden).amax((2, 3)))


class Signal(nn.Module):
    """A one-dimensional convolution with stride, padding and dilation, and a group norm."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(2, 4, 2, stride=2, padding=2, dilation=2)
        self.norm, self.readout = nn.GroupNorm(2, 4), nn.Linear(4, 1)

    def forward(self, inputs: Tensor) -> Tensor:
        hidden = self.norm(self.conv(inputs.reshape(len(inputs), 2, 3)))
        return self.readout(torch.tanh(hidden).sum(2)).squeeze(1)


class Words(nn.Module):
    """Tokens looked up in a table used twice, with a padding token and a layer norm."""

    def __init__(self, head: bool = False) -> None:
        super().__init__()
        self.table = nn.Embedding(5, 4, padding_idx=0)
        self.norm, self.readout = nn.LayerNorm(4), nn.Linear(4, 5, bias=False)
        if head:
            self.readout.weight = self.table.weight

    def forward(self, inputs: Tensor) -> Tensor:
        tokens = (inputs.abs() * 2).long().clamp(max=4)
        hidden = self.norm(self.table(tokens)).tanh() + self.table(tokens.flip(1))
        return 0.05 * self.readout(hidden).square().mean((1, 2))


def awkward_networks() -> dict[str, tuple[nn.Module, tuple[int, ...]]]:
    """Networks on which a careless layer rule is wrong, in float64."""
    torch.manual_seed(1)
    frozen_first = TwoLayer(VECTOR, width=5)
    frozen_first.hidden.weight.requires_grad_(False)
    norm = nn.Sequential(nn.Linear(6, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1)).eval()
    weight_norm = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(6, 4)), nn.Tanh(), nn.Linear(4, 1)
    )
    made = {
        "layer used twice": (UsedTwice(), VECTOR),
        "tied weights": (Tied(), VECTOR),
        "time first": (Sequence(), VECTOR),
        "positions": (Tokens(), VECTOR),
        "convolutions": (Convolutions(), IMAGE),
        "first weight frozen": (frozen_first, VECTOR),
        "batch norm in eval": (norm, VECTOR),
        "weight norm": (weight_norm, VECTOR),
        "signal": (Signal(), VECTOR),
        "words": (Words(), VECTOR),
        "table tied to the head": (Words(head=True), VECTOR),
    }
    return {name: (network.double(), shape) for name, (network, shape) in made.items()}


def fingerprint(model: nn.Module) -> dict[str, object]:
    """Everything of a model that a measurement must leave alone, as comparable bytes."""
    state = {name: value.numpy().tobytes() for name, value in model.state_dict().items()}
    flags = {name: p.requires_grad for name, p in model.named_parameters()}
    grads = {name: p.grad for name, p in model.named_parameters()}
    modes = {name: m.training for name, m in model.named_modules()}
    hooks = {name: len(m._forward_hooks) for name, m in model.named_modules()}
    return {"state": state, "flags": flags, "grads": grads, "modes": modes, "hooks": hooks}
