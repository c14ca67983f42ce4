"""The paper's networks (appendix A.4); each returns one output per example, shape ``(n,)``.

``Activation.IDENTITY`` gives the linear twin: the same layers, linear in the input.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from math import prod

import torch
from torch import Tensor, nn
from torch.nn import functional

from localelastic.errors import ModelError, expect_whole
from localelastic.shapes import Inputs, PerExample

Shape = tuple[int, ...]
"""The shape of one input."""


class Activation(Enum):
    """The nonlinearity between layers."""

    RELU = "relu"
    SIGMOID = "sigmoid"
    IDENTITY = "identity"

    def __call__(self, values: Tensor) -> Tensor:
        """Apply it elementwise."""
        if self is Activation.IDENTITY:
            return values
        return torch.relu(values) if self is Activation.RELU else torch.sigmoid(values)


PUBLISHED_WIDTHS = {"two-layer": 40960, "three-layer": 8192, "resnet": 4096}
"""Hidden units of each family of dense networks (appendix A.4)."""


class TwoLayer(nn.Module):
    """``f(x) = c + sum_r a_r s(w_r x + b_r)`` over ``h`` hidden units."""

    def __init__(
        self,
        shape: Shape,
        *,
        width: int = PUBLISHED_WIDTHS["two-layer"],
        activation: Activation = Activation.RELU,
    ) -> None:
        super().__init__()
        _expect_sizes(shape, width)
        self.hidden = nn.Linear(prod(shape), width)
        self.readout = nn.Linear(width, 1)
        self.activation = activation

    def forward(self, inputs: Inputs) -> PerExample:
        """One output per example."""
        return self.readout(self.activation(self.hidden(inputs.flatten(1)))).squeeze(1)


class ThreeLayer(nn.Module):
    """Two hidden layers of equal width, as fitted to the folded boxes."""

    def __init__(
        self,
        shape: Shape,
        *,
        width: int = PUBLISHED_WIDTHS["three-layer"],
        activation: Activation = Activation.RELU,
    ) -> None:
        super().__init__()
        _expect_sizes(shape, width)
        self.first = nn.Linear(prod(shape), width)
        self.second = nn.Linear(width, width)
        self.readout = nn.Linear(width, 1)
        self.activation = activation

    def forward(self, inputs: Inputs) -> PerExample:
        """One output per example."""
        hidden = self.activation(self.first(inputs.flatten(1)))
        return self.readout(self.activation(self.second(hidden))).squeeze(1)


class ResNet(nn.Module):
    """The paper's three-layer ResNet: one skip around the second layer, no batch norm."""

    def __init__(
        self,
        shape: Shape,
        *,
        width: int = PUBLISHED_WIDTHS["resnet"],
        activation: Activation = Activation.RELU,
    ) -> None:
        super().__init__()
        _expect_sizes(shape, width)
        self.first = nn.Linear(prod(shape), width)
        self.second = nn.Linear(width, width)
        self.readout = nn.Linear(width, 1)
        self.activation = activation

    def forward(self, inputs: Inputs) -> PerExample:
        """One output per example."""
        first = self.activation(self.first(inputs.flatten(1)))
        return self.readout(first + self.activation(self.second(first))).squeeze(1)


class CNN(nn.Module):
    """Two 5x5 convolutions with pooling, then two dense layers; 426,571 parameters on 1x28x28.

    The linear twin pools by the mean: with the maximum it would not be linear.

    Args:
        shape: ``(channels, height, width)`` of one image, at least 16 x 16.
        width: units of the dense layer.
        activation: between all layers.

    Raises:
        ModelError: an input that is not an image of at least 16 x 16.
        SettingError: no hidden unit.
    """

    def __init__(
        self, shape: Shape, *, width: int = 500, activation: Activation = Activation.RELU
    ) -> None:
        super().__init__()
        if not takes_images(shape):
            raise ModelError(
                "the CNN expects images of shape (channels, height, width), at least 16 x 16, "
                f"got inputs of shape {shape}; use a two-layer network instead"
            )
        _expect_sizes(shape, width)
        channels, height, breadth = shape
        self.conv1 = nn.Conv2d(channels, 20, 5)
        self.conv2 = nn.Conv2d(20, 50, 5)
        self.dense = nn.Linear(50 * _pooled(height) * _pooled(breadth), width)
        self.readout = nn.Linear(width, 1)
        self.activation = activation

    def forward(self, inputs: Inputs) -> PerExample:
        """One output per example."""
        linear = self.activation is Activation.IDENTITY
        pool = functional.avg_pool2d if linear else functional.max_pool2d
        hidden = pool(self.activation(self.conv1(inputs)), 2)
        hidden = pool(self.activation(self.conv2(hidden)), 2)
        hidden = self.activation(self.dense(hidden.flatten(1)))
        return self.readout(hidden).squeeze(1)


def _expect_sizes(shape: Shape, width: int) -> None:
    """Refuse a network without inputs or without hidden units.

    Raises:
        ModelError: inputs without numbers.
        SettingError: no hidden unit.
    """
    expect_whole(width, "width", 1)
    if prod(shape) < 1:
        raise ModelError(f"expected inputs that hold numbers, got the shape {tuple(shape)}")


def _pooled(size: int) -> int:
    """The side of an image after both rounds of 5x5 convolution and pooling by two."""
    return ((size - 4) // 2 - 4) // 2


NetworkBuilder = Callable[..., nn.Module]
"""``build(shape, width=...)``; without ``width`` the published one."""

NETWORKS: dict[str, NetworkBuilder] = {
    "cnn": CNN,
    "cnn-linear": partial(CNN, activation=Activation.IDENTITY),
    "two-layer": TwoLayer,
    "two-layer-linear": partial(TwoLayer, activation=Activation.IDENTITY),
    "two-layer-sigmoid": partial(TwoLayer, activation=Activation.SIGMOID),
    "three-layer": ThreeLayer,
    "three-layer-linear": partial(ThreeLayer, activation=Activation.IDENTITY),
    "resnet": ResNet,
    "resnet-linear": partial(ResNet, activation=Activation.IDENTITY),
}
"""By the name used at the command line."""


def default_network(shape: Shape) -> nn.Module:
    """The CNN for images it can take, otherwise a two-layer ReLU network of 4,096 hidden units."""
    if takes_images(shape):
        return CNN(shape)
    return TwoLayer(shape, width=4096)


def takes_images(shape: Shape) -> bool:
    """Whether inputs of this shape are images that the CNN can take."""
    return len(shape) == 3 and min(shape[1:]) >= 16


def build_network(name: str, shape: Shape, *, width: int | None = None, seed: int) -> nn.Module:
    """A freshly initialised network of the paper; the global random state is left alone.

    Raises:
        ModelError: an unknown name, or inputs the network cannot take.
        SettingError: no hidden unit.
    """
    if name not in NETWORKS:
        raise ModelError(f"unknown network {name!r}; choose one of: {', '.join(NETWORKS)}")
    settings = {} if width is None else {"width": width}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return NETWORKS[name](shape, **settings)
