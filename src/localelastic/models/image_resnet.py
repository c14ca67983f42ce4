"""Residual networks with torchvision's names of weights, built to fit a checkpoint's shapes."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from localelastic.errors import ModelError

State = Mapping[str, Tensor]
COLOURS = 3

_NAMES: dict[tuple[str, tuple[int, ...]], str] = {
    ("basic", (2, 2, 2, 2)): "ResNet-18",
    ("basic", (3, 4, 6, 3)): "ResNet-34",
    ("bottleneck", (3, 4, 6, 3)): "ResNet-50",
    ("bottleneck", (3, 4, 23, 3)): "ResNet-101",
    ("bottleneck", (3, 8, 36, 3)): "ResNet-152",
}
_EXPECTED = (
    "expected the state dict of a ResNet as torchvision saves it (conv1.weight, layer1.0.conv1"
    ".weight ... fc.bias; ResNet-18 to -152, ResNeXt, wide)"
)


class ImageResNet(nn.Module):
    """A residual network for photographs (He et al., 2016), ``(n, 3, h, w)`` to class logits.

    Widths, depth, groups and the kind of block are those of the weights. As in torchvision the
    3 x 3 convolution of a block has the stride.

    Args:
        state: weights by torchvision's names, of every layer.

    Raises:
        ModelError: weights that are not of such a network.
    """

    def __init__(self, state: State):
        super().__init__()
        stem, last = _weight(state, "conv1", 4), _weight(state, "fc", 2)
        if stem.shape[1] != COLOURS or not last.numel():
            raise ModelError(
                f"{_EXPECTED} for photographs of {COLOURS} colours, got conv1.weight of shape "
                f"{tuple(stem.shape)} and fc.weight of shape {tuple(last.shape)}"
            )
        self.conv1 = nn.Conv2d(stem.shape[1], len(stem), stem.shape[2], 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(len(stem))
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        depths = tuple(_depth(state, f"layer{stage}") for stage in (1, 2, 3, 4))
        for stage, depth in enumerate(depths, start=1):
            blocks = [
                _Block(state, f"layer{stage}.{i}", 2 if stage > 1 and i == 0 else 1)
                for i in range(depth)
            ]
            self.add_module(f"layer{stage}", nn.Sequential(*blocks))
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(last.shape[1], len(last))
        try:
            self.load_state_dict(dict(state))
        except RuntimeError as error:
            # The first line only names the class; the next says what is missing or does not fit.
            reason = (str(error).splitlines() or [""])[1:2]
            raise ModelError(f"{_EXPECTED}, got weights that do not fit: {reason}") from None
        kind = "bottleneck" if "layer1.0.conv3.weight" in state else "basic"
        name = _NAMES.get((kind, depths), "ResNet") if len(stem) == 64 else "ResNet"
        plain = kind == "basic" or len(_weight(state, "layer1.0.conv1", 4)) == len(stem)
        self.name = name if plain else f"{name} (grouped or wide)"

    def forward(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n k"]:
        """Logits."""
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        for stage in (1, 2, 3, 4):
            x = self.get_submodule(f"layer{stage}")(x)
        return self.fc(torch.flatten(self.avgpool(x), 1))


class _Block(nn.Module):
    """Two 3 x 3 convolutions, or 1 x 1, 3 x 3, 1 x 1; the input is added before the last ReLU."""

    def __init__(self, state: State, at: str, stride: int):
        super().__init__()
        self.depth = 3 if f"{at}.conv3.weight" in state else 2
        strided = 2 if self.depth == 3 else 1
        width = 0
        for i in range(1, self.depth + 1):
            weight = _weight(state, f"{at}.conv{i}", 4)
            entering = weight.shape[1] if i == 1 else width
            if entering % weight.shape[1]:
                raise ModelError(f"{_EXPECTED}, got {at}.conv{i} that does not fit the one before")
            convolution = nn.Conv2d(
                entering,
                len(weight),
                weight.shape[2],
                stride if i == strided else 1,
                weight.shape[2] // 2,
                groups=entering // weight.shape[1],
                bias=False,
            )
            self.add_module(f"conv{i}", convolution)
            self.add_module(f"bn{i}", nn.BatchNorm2d(len(weight)))
            width = len(weight)
        self.relu = nn.ReLU()
        self.downsample = None
        if f"{at}.downsample.0.weight" in state:
            weight = _weight(state, f"{at}.downsample.0", 4)
            self.downsample = nn.Sequential(
                nn.Conv2d(weight.shape[1], len(weight), 1, stride, bias=False),
                nn.BatchNorm2d(len(weight)),
            )

    def forward(self, x: Float[Tensor, "n c h w"]) -> Float[Tensor, "n k p q"]:
        out = x
        for i in range(1, self.depth + 1):
            out = self.get_submodule(f"bn{i}")(self.get_submodule(f"conv{i}")(out))
            if i < self.depth:
                out = self.relu(out)
        return self.relu(out + (x if self.downsample is None else self.downsample(x)))


def _weight(state: State, layer: str, dimensions: int) -> Tensor:
    found = state.get(f"{layer}.weight")
    if found is None or found.ndim != dimensions:
        got = "none" if found is None else f"shape {tuple(found.shape)}"
        raise ModelError(f"{_EXPECTED}, got for {layer}.weight: {got}")
    return found


def _depth(state: State, layer: str) -> int:
    """Blocks of a stage."""
    depth = 0
    while f"{layer}.{depth}.conv1.weight" in state:
        depth += 1
    if not depth:
        raise ModelError(f"{_EXPECTED}, got no {layer}")
    return depth
