from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from localelastic.data.examples import Examples
from localelastic.errors import DataError, MeasurementError, SettingError
from localelastic.models import (
    CNN,
    CrossEntropy,
    SquaredLoss,
    TwoLayer,
    WarmUp,
    code,
    published_warm_up,
    sharpness,
    warm_up,
)
from worlds import VECTOR, examples, fingerprint


def sides():
    torch.manual_seed(0)
    return Examples.of(torch.randn(20, 6) + 1), Examples.of(torch.randn(15, 6) - 1)


@pytest.mark.parametrize("loss", [SquaredLoss(), CrossEntropy()])
def test_equals_plain_sgd(loss):
    primary, auxiliary = sides()
    torch.manual_seed(1)
    model, twin = TwoLayer(VECTOR, width=5), TwoLayer(VECTOR, width=5)
    twin.load_state_dict(model.state_dict())
    settings = WarmUp(epochs=3, lr=0.05, momentum=0.5, batch_size=8)
    record = warm_up(model, primary, auxiliary, loss=loss, settings=settings, seed=7)

    targets = torch.tensor([loss.primary_target] * 20 + [loss.auxiliary_target] * 15)
    inputs = torch.cat([primary.inputs, auxiliary.inputs])
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.05, momentum=0.5)
    shuffle = torch.Generator().manual_seed(7)
    for _ in range(3):
        for batch in torch.randperm(35, generator=shuffle).split(8):
            optimizer.zero_grad()
            loss.value(twin(inputs[batch]), targets[batch]).mean().backward()
            optimizer.step()
    for ours, plain in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(ours, plain)
    assert len(record.losses) == 3
    assert record.lr == 0.05
    positive = twin(inputs) > 0
    assert record.accuracy == pytest.approx((positive == (targets > 0.5)).float().mean().item())


def test_leaves_modes_and_random_state_alone():
    primary, auxiliary = sides()
    model = nn.Sequential(nn.Linear(6, 4), nn.Dropout(0.3), nn.Linear(4, 1)).eval()
    model[1].train()
    modes, random = fingerprint(model)["modes"], torch.get_rng_state()
    settings = WarmUp(epochs=1)
    records = [
        warm_up(model, primary, auxiliary, loss=SquaredLoss(), settings=settings) for _ in "ab"
    ]
    assert fingerprint(model)["modes"] == modes
    assert torch.equal(torch.get_rng_state(), random)
    assert records[0].losses != records[1].losses


def test_no_epochs_leave_the_network_as_it_is():
    primary, auxiliary = sides()
    model = TwoLayer(VECTOR, width=5)
    before = fingerprint(model)
    record = warm_up(model, primary, auxiliary, loss=SquaredLoss(), settings=WarmUp(epochs=0))
    assert fingerprint(model) == before
    assert record.losses == ()


def test_divergence_is_said():
    primary, auxiliary = sides()
    with pytest.raises(MeasurementError, match=r"diverged in epoch \d+ at lr=1e\+30"):
        warm_up(
            TwoLayer(VECTOR, width=5),
            primary,
            auxiliary,
            loss=SquaredLoss(),
            settings=WarmUp(lr=1e30),
        )


def test_sharpness_is_the_largest_eigenvalue():
    """Against the Gauss-Newton matrix formed outright."""
    torch.manual_seed(2)
    model = TwoLayer(VECTOR, width=5).double()
    for loss in (SquaredLoss(), CrossEntropy()):
        task = code(examples(9), examples(4, seed=1), loss)
        rows = []
        for one in task.inputs.split(1):
            grads = torch.autograd.grad(model(one).sum(), list(model.parameters()))
            rows.append(torch.cat([g.flatten() for g in grads]))
        probability = torch.sigmoid(model(task.inputs)).detach()
        curvature = torch.ones(13) if loss.name == "squared" else probability * (1 - probability)
        jacobian = torch.stack(rows) * curvature.double().sqrt()[:, None]
        expected = torch.linalg.eigvalsh(jacobian @ jacobian.T / 13)[-1].item()
        found = sharpness(model, task.inputs, task.targets, loss=loss)
        assert found == pytest.approx(expected, rel=0.05)


def test_default_step_is_stable_where_a_hundredth_is_not():
    """Wide network, large inputs: 0.01 diverges, the default does not."""
    primary, auxiliary = sides()
    primary = Examples.of(10 * primary.inputs)
    with pytest.raises(MeasurementError, match="diverged"):
        warm_up(
            TwoLayer(VECTOR, width=512),
            primary,
            auxiliary,
            loss=SquaredLoss(),
            settings=WarmUp(lr=0.01),
        )
    record = warm_up(
        TwoLayer(VECTOR, width=512), primary, auxiliary, loss=SquaredLoss(), settings=WarmUp()
    )
    assert record.lr < 0.01
    assert record.losses[-1] < record.losses[0]


@pytest.mark.parametrize(
    "wrong",
    [
        {"epochs": -1},
        {"lr": 0.0},
        {"lr": -1.0},
        {"lr": math.nan},
        {"lr": math.inf},
        {"momentum": 1.0},
        {"batch_size": 0},
    ],
)
def test_settings_out_of_range(wrong):
    with pytest.raises(SettingError, match="warm-up expects"):
        WarmUp(**wrong)


@pytest.mark.parametrize(
    ("network", "loss", "expected"),
    [
        ("two-layer", "squared", (200, 6e-3, 50)),
        ("two-layer", "cross-entropy", (50, 3e-3, 50)),
        ("two-layer-linear", "squared", (200, 6e-5, 50)),
        ("two-layer-linear", "cross-entropy", (50, 3e-3, 50)),
        ("cnn", "squared", (200, 6e-3, 500)),
        ("resnet", "squared", (200, 6e-3, 500)),
    ],
)
def test_published_settings(network, loss, expected):
    """Steps on squared losses are doubled: the published loss has no 1/2."""
    found = published_warm_up(network, loss)
    assert (found.epochs, found.lr, found.batch_size) == pytest.approx(expected)
    assert found.momentum == 0


def test_sides_of_different_shape_are_refused():
    with pytest.raises(DataError, match="one shape"):
        code(examples(2, (3,)), examples(2, (4,)), SquaredLoss())


class Viewing(nn.Module):
    """Expects what a convolution gives to lie in memory as usual."""

    def __init__(self, convolution, side):
        super().__init__()
        self.convolution, self.readout = convolution, nn.Linear(2 * side, 1)

    def forward(self, inputs):
        return self.readout(self.convolution(inputs).view(len(inputs), -1)).squeeze(1)


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        (Viewing(nn.Conv2d(1, 2, 3), 16), (1, 6, 6)),
        (Viewing(nn.Conv3d(1, 2, 3), 8), (1, 4, 4, 4)),
        (CNN((1, 16, 16), width=4), (1, 16, 16)),
    ],
)
def test_convolutions_of_any_kind_train_and_lie_in_memory_as_before(model, shape):
    sides = [Examples.of(torch.randn(6, *shape)) for _ in range(2)]
    record = warm_up(model, *sides, loss=SquaredLoss(), settings=WarmUp(2))
    assert len(record.losses) == 2
    assert all(weight.is_contiguous() for weight in model.parameters())
