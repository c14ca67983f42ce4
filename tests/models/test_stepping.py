"""Which weights steps move, and that the model is as it was afterwards."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from localelastic.errors import SettingError
from localelastic.models import CNN, TwoLayer, layers_of, stepping_on, turns

LAYERS = ("conv1", "conv2", "dense", "readout")
ALL = {f"{layer}.{weight}" for layer in LAYERS for weight in ("weight", "bias")}


def trainable(model):
    return {name for name, weight in model.named_parameters() if weight.requires_grad}


@pytest.mark.parametrize(
    ("layers", "left"),
    [
        ("all-but-convolutions", {"dense.weight", "dense.bias", "readout.weight", "readout.bias"}),
        (["readout"], {"readout.weight", "readout.bias"}),
        ("readout", {"readout.weight", "readout.bias"}),
        (["conv1", "readout.bias"], {"conv1.weight", "conv1.bias", "readout.bias"}),
        (("all",), ALL),
        ("all", ALL),
    ],
)
def test_only_these_are_stepped_on(layers, left):
    model = CNN((1, 28, 28), width=10)
    with stepping_on(model, layers):
        assert trainable(model) == left
    assert len(trainable(model)) == 8


@pytest.mark.parametrize("layers", [["read"], ["readout", "pool"], [], ""])
def test_what_is_no_layer_is_refused(layers):
    model = CNN((1, 28, 28), width=10)
    with (
        pytest.raises(SettingError, match=r"conv1, conv2, dense, readout\), each, all or all-but"),
        stepping_on(model, layers),
    ):
        pass
    assert len(trainable(model)) == 8


def test_what_was_frozen_stays_so_also_after_an_error():
    model = TwoLayer((4,), width=3)
    model.readout.bias.requires_grad_(False)
    before = trainable(model)
    with pytest.raises(ZeroDivisionError), stepping_on(model, ["hidden"]):
        1 / (trainable(model) - {"hidden.weight", "hidden.bias"} == before)
    assert trainable(model) == before
    with pytest.raises(SettingError, match=r"readout\.bias"), stepping_on(model, ["readout.bias"]):
        pass


def test_convolutions_alone_are_all_there_is():
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten())
    with stepping_on(model, "all-but-convolutions"):
        assert trainable(model) == {"0.weight", "0.bias"}


def test_a_weight_of_two_layers_belongs_to_both():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    model[1].weight = model[0].weight
    with stepping_on(model, ["1"]):
        assert trainable(model) == {"0.weight", "1.bias"}


def test_convolutions_in_disguise():
    model = nn.Sequential(weight_norm(nn.Conv1d(1, 2, 3)), nn.Flatten(), nn.Linear(4, 1))
    with stepping_on(model, "all-but-convolutions"):
        assert trainable(model) == {"2.weight", "2.bias"}


def test_each_layer_has_a_turn_and_each_weight_one_layer():
    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.inner = nn.Sequential(weight_norm(nn.Linear(3, 3)), nn.ReLU())
            self.tied, self.frozen = nn.Linear(3, 3), nn.Linear(3, 1)
            self.tied.weight = self.scale_of = nn.Parameter(torch.ones(3, 3))
            self.frozen.requires_grad_(False)

    model = Odd()
    layers = layers_of(model)
    assert list(layers) == ["scale", "scale_of", "inner.0", "tied"]
    assert set(layers["inner.0"]) == {
        "inner.0.bias",
        "inner.0.parametrizations.weight.original0",
        "inner.0.parametrizations.weight.original1",
    }
    moved = []
    for turn in turns(model, "each"):
        with stepping_on(model, turn):
            moved += trainable(model)
    assert sorted(moved) == sorted(trainable(model))
    assert turns(model, ["tied"]) == [["tied"]]
    assert turns(model, "all") == [["all"]]
    with pytest.raises(SettingError, match=r"got inner\.1"):
        turns(model, "inner.1")
