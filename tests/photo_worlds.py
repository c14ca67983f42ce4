"""A small classifier in torchvision's format, and folders of small pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torch import Tensor


def resnet_state(
    depths=(1, 1, 1, 1), *, width=4, expansion=1, groups=1, base=64, classes=1000, seed=0
) -> dict[str, Tensor]:
    """Random weights by torchvision's names; ``expansion`` 4 is the bottleneck."""
    draw = torch.Generator().manual_seed(seed)
    state: dict[str, Tensor] = {}

    def convolution(name: str, out: int, into: int, kernel: int) -> None:
        scale = (2 / (into * kernel**2)) ** 0.5
        weight = torch.randn(out, into, kernel, kernel, generator=draw) * scale
        state[f"{name}.weight"] = weight

    def norm(name: str, size: int) -> None:
        state[f"{name}.weight"] = 0.5 + torch.rand(size, generator=draw)
        state[f"{name}.bias"] = 0.1 * torch.randn(size, generator=draw)
        state[f"{name}.running_mean"] = 0.1 * torch.randn(size, generator=draw)
        state[f"{name}.running_var"] = 0.5 + torch.rand(size, generator=draw)
        state[f"{name}.num_batches_tracked"] = torch.tensor(7)

    convolution("conv1", width, 3, 7)
    norm("bn1", width)
    entering = width
    for stage, depth in enumerate(depths):
        planes = width * 2**stage
        leaving = planes * expansion
        for block in range(depth):
            at = f"layer{stage + 1}.{block}"
            if expansion == 1:
                sizes = [(planes, entering, 3), (planes, planes, 3)]
            else:
                inner = planes * base // 64 * groups
                sizes = [(inner, entering, 1), (inner, inner // groups, 3), (leaving, inner, 1)]
            for i, (out, into, kernel) in enumerate(sizes, start=1):
                convolution(f"{at}.conv{i}", out, into, kernel)
                norm(f"{at}.bn{i}", out)
            if block == 0 and (stage > 0 or entering != leaving):
                convolution(f"{at}.downsample.0", leaving, entering, 1)
                norm(f"{at}.downsample.1", leaving)
            entering = leaving
    state["fc.weight"] = torch.randn(classes, entering, generator=draw) * entering**-0.5
    state["fc.bias"] = torch.zeros(classes)
    return state


def saved(path: Path, state: object) -> Path:
    torch.save(state, path)
    return path


def picture(path: Path, seed: int, *, size=(40, 30)) -> Path:
    """Smooth random colours."""
    path.parent.mkdir(parents=True, exist_ok=True)
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3)).astype(np.uint8)
    Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC).save(path)
    return path


def folder(at: Path, counts: dict[str, int]) -> Path:
    for kind, count in counts.items():
        for i in range(count):
            picture(at / kind / f"{i:02}.png", sum(map(ord, kind)) + i)
    return at
