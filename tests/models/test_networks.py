from __future__ import annotations

import pytest
import torch

from localelastic.errors import ModelError, SettingError
from localelastic.models import CNN, NETWORKS, ResNet, TwoLayer, build_network, default_network
from worlds import paper_networks, points

LINEAR = {name: made for name, made in paper_networks().items() if name.endswith("identity")}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_twins_are_linear(name):
    model, shape = LINEAR[name]
    x, y, zero = points(3, shape), points(3, shape, seed=1), torch.zeros(3, *shape).double()
    torch.testing.assert_close(model(x + y), model(x) + model(y) - model(zero))


@pytest.mark.parametrize("name", [n for n in paper_networks() if n not in LINEAR])
def test_the_others_are_not(name):
    model, shape = paper_networks()[name]
    x, y, zero = points(3, shape), points(3, shape, seed=1), torch.zeros(3, *shape).double()
    assert (model(x + y) - model(x) - model(y) + model(zero)).abs().max() > 1e-6


def parameters(model):
    return sum(p.numel() for p in model.parameters())


def test_published_sizes():
    assert parameters(CNN((1, 28, 28))) == 426_571
    assert TwoLayer((784,)).hidden.out_features == 40960
    resnet = ResNet((784,))
    assert (resnet.first.out_features, resnet.second.out_features) == (4096, 4096)


def test_resnet_adds_its_skip():
    """By hand, with all weights one and no bias: h1 = 2, h2 = relu(2) = 2, f = h1 + h2 = 4."""
    model = ResNet((2,), width=1)
    with torch.no_grad():
        for name, p in model.named_parameters():
            p.fill_(0.0 if name.endswith("bias") else 1.0)
    assert model(torch.ones(1, 2)).item() == 4.0


@pytest.mark.parametrize("name", NETWORKS)
def test_seed_decides_and_the_global_state_is_left_alone(name):
    state = torch.get_rng_state()
    first, again, other = (build_network(name, (1, 16, 16), width=8, seed=s) for s in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), state)
    assert all(
        torch.equal(a, b) for a, b in zip(first.parameters(), again.parameters(), strict=True)
    )
    assert any(
        not torch.equal(a, b) for a, b in zip(first.parameters(), other.parameters(), strict=True)
    )


def test_what_a_network_cannot_take_is_refused():
    with pytest.raises(ModelError, match="at least 16 x 16"):
        CNN((1, 12, 40))
    with pytest.raises(ModelError, match="choose one of: cnn,"):
        build_network("cmm", (1, 28, 28), seed=0)
    for name in NETWORKS:
        with pytest.raises(SettingError, match="width to be a whole number of 1 or more, got 0"):
            build_network(name, (1, 28, 28), width=0, seed=0)
    with pytest.raises(ModelError, match=r"hold numbers, got the shape \(0,\)"):
        build_network("two-layer", (0,), seed=0)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((1, 28, 28), CNN), ((3, 16, 16), CNN), ((8,), TwoLayer), ((1, 8, 8), TwoLayer)],
)
def test_default_network(shape, kind):
    assert type(default_network(shape)) is kind
