"""The closed form equals real steps: in float64 to rounding, in float32 better than subtraction."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import nn

from localelastic.change import ClosedForm, Question, Replay
from localelastic.data.examples import Examples
from localelastic.errors import MeasurementError, ModelError
from localelastic.measure import similarity_matrix
from localelastic.models import (
    CNN,
    Activation,
    CrossEntropy,
    Scalar,
    SquaredLoss,
    ThreeLayer,
    TwoLayer,
    code,
    two_layer,
)
from localelastic.numerics import kernels
from localelastic.numerics import two_layer as numerics
from localelastic.shapes import silent
from localelastic.trajectory import Frozen, Sequential
from worlds import examples, fingerprint

LOSSES = [SquaredLoss(), CrossEntropy()]


def network(width, activation=Activation.RELU, seed=0, scale=1.0):
    torch.manual_seed(seed)
    model = TwoLayer((5,), width=width, activation=activation).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= scale
    return model


def measured(strategy, model, loss, trajectory, n=7, m=4, prediction=None):
    primary, auxiliary = examples(n, (5,)), examples(m, (5,), seed=1)
    prediction = prediction or loss.prediction
    question = Question(model, code(primary, auxiliary, loss), loss, prediction, trajectory)
    return list(strategy.changes(question, silent))


def agree(found, expected, rtol=1e-10):
    assert len(found) == len(expected)
    for ours, real in zip(found, expected, strict=True):
        assert ours.reasons == real.reasons
        for name in ("change", "self_change", "unit"):
            want = getattr(real, name)
            np.testing.assert_allclose(
                getattr(ours, name), want, rtol=0, atol=rtol * abs(want).max()
            )


@pytest.mark.parametrize("trajectory", [Frozen(), Sequential(2, seed=3)])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("activation", Activation)
@pytest.mark.parametrize("lr", [1e-3, 0.03, 0.2])
@pytest.mark.parametrize("width", [1, 9, 70])
def test_equals_real_steps(trajectory, loss, activation, lr, width):
    model = network(width, activation)
    before = fingerprint(model)
    found = measured(ClosedForm(lr), model, loss, trajectory)
    agree(found, measured(Replay(lr), model, loss, trajectory))
    assert fingerprint(model) == before


def flips(model, inputs, targets, lr):
    """How many gates a step on each example flips at all the others."""
    count = 0
    for i in range(len(inputs)):
        pre = model.hidden(inputs)
        output = model(inputs[i : i + 1])
        weight, bias = torch.autograd.grad(
            (output - targets[i]).square().sum() / 2, [model.hidden.weight, model.hidden.bias]
        )
        after = inputs @ (model.hidden.weight - lr * weight).T + model.hidden.bias - lr * bias
        count += ((pre > 0) != (after > 0)).sum().item()
    return count


@pytest.mark.parametrize("trajectory", [Frozen(), Sequential(seed=1)])
@pytest.mark.parametrize("loss", LOSSES)
def test_large_steps_that_flip_many_gates(trajectory, loss):
    model = network(40, scale=1.5)
    inputs = examples(7, (5,)).inputs
    assert flips(model, inputs, torch.ones(7), 0.5) > 50
    agree(
        measured(ClosedForm(0.5), model, loss, trajectory),
        measured(Replay(0.5), model, loss, trajectory),
    )


@pytest.mark.parametrize("prediction", [Scalar()])
def test_logit_of_cross_entropy(prediction):
    model, loss = network(9), CrossEntropy()
    agree(
        *(
            measured(s, model, loss, Sequential(), prediction=prediction)
            for s in (ClosedForm(0.1), Replay(0.1))
        )
    )


@pytest.mark.parametrize("trajectory", [Frozen(), Sequential()])
def test_dead_units_and_duplicates(trajectory):
    model = network(12)
    with torch.no_grad():
        model.hidden.bias[:5] = -100
    inputs = examples(6, (5,)).inputs
    primary = Examples.of(torch.cat([inputs, inputs[:3]]))
    auxiliary = Examples.of(inputs[2:4])
    matrices = [
        similarity_matrix(model, primary, auxiliary, trajectory=trajectory, strategy=s)
        for s in (ClosedForm(0.05), Replay(0.05))
    ]
    np.testing.assert_allclose(matrices[0].values, matrices[1].values, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("trajectory", [Frozen(), Sequential()])
@pytest.mark.parametrize("activation", Activation)
def test_tiles_and_threads_change_nothing(trajectory, activation, monkeypatch):
    model, loss = network(70, activation), CrossEntropy()
    whole = measured(ClosedForm(0.1), model, loss, trajectory)
    threads = torch.get_num_threads()
    for probes, width, number in ((1, 7, 1), (3, 64, 2), (5, 33, 4)):
        monkeypatch.setattr(numerics, "PROBES", probes)
        monkeypatch.setattr(numerics, "WIDTH", width)
        try:
            torch.set_num_threads(number)
            agree(measured(ClosedForm(0.1), model, loss, trajectory), whole, rtol=1e-12)
        finally:
            torch.set_num_threads(threads)


@pytest.mark.parametrize("trajectory", [Frozen(), Sequential()])
@pytest.mark.parametrize("lr", [1e-8, 1e-6, 1e-4, 1e-2])
def test_single_precision_keeps_small_steps(trajectory, lr):
    """Against float64, where subtraction in float32 loses up to a tenth."""
    torch.manual_seed(0)
    model = TwoLayer((5,), width=300)
    loss = SquaredLoss()
    (single,) = measured(ClosedForm(lr), model, loss, trajectory, n=20, m=10)
    (double,) = measured(ClosedForm(lr, torch.float64), model, loss, trajectory, n=20, m=10)
    error = np.abs(single.change - double.change).max(1) / np.abs(double.change).max(1)
    assert error.max() < 1e-4
    if lr == 1e-8:
        (subtracted,) = measured(Replay(lr, torch.float32), model, loss, trajectory, n=20, m=10)
        assert np.abs(subtracted.change - double.change).max() > 1e-2 * np.abs(double.change).max()


def test_the_same_uncompiled(monkeypatch):
    """Without numba the plain functions give the same numbers."""
    pytest.importorskip("numba")
    model = network(9)
    compiled = {}
    for activation in Activation:
        model.activation = activation
        for trajectory in (Frozen(), Sequential()):
            compiled[activation, trajectory] = measured(
                ClosedForm(0.1), model, CrossEntropy(), trajectory
            )
    for name, function in vars(kernels).items():
        if hasattr(function, "py_func"):
            monkeypatch.setattr(kernels, name, function.py_func)
    for (activation, trajectory), expected in compiled.items():
        model.activation = activation
        found = measured(ClosedForm(0.1), model, CrossEntropy(), trajectory)
        agree(found, expected, rtol=1e-12)


def test_refused_targets_poison_nothing():
    targets = torch.tensor([1.0, math.nan, -1.0, 0.5], dtype=torch.float64)
    primary = Examples.of(examples(4, (5,)).inputs, targets=targets)
    auxiliary = examples(3, (5,), seed=1)
    for trajectory in (Frozen(), Sequential()):
        found, real = (
            similarity_matrix(network(9), primary, auxiliary, trajectory=trajectory, strategy=s)
            for s in (ClosedForm(0.1), Replay(0.1))
        )
        assert found.excluded == real.excluded == (("1", "the target is not finite: step refused"),)
        np.testing.assert_allclose(found.values, real.values, rtol=1e-10)


@pytest.mark.parametrize("trajectory", [Frozen(), Sequential()])
def test_divergence_is_reported(trajectory):
    model, sides = network(9), (examples(4, (5,)), examples(3, (5,), seed=1))
    with pytest.raises(MeasurementError, match="had a meaning"):
        similarity_matrix(model, *sides, trajectory=trajectory, strategy=ClosedForm(1e200))


SEQUENTIAL = {
    "relu": nn.Sequential(nn.Flatten(), nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 1)),
    "sigmoid": nn.Sequential(nn.Linear(6, 4), nn.Sigmoid(), nn.Linear(4, 1)),
    "identity": nn.Sequential(nn.Linear(6, 4), nn.Identity(), nn.Linear(4, 1)),
    "none": nn.Sequential(nn.Linear(6, 4), nn.Linear(4, 1)),
}


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_accepts_what_it_can_prove(name):
    model = SEQUENTIAL[name].double()
    shape = (2, 3) if name == "relu" else (6,)
    primary = examples(4, shape)
    found, real = (
        similarity_matrix(model, primary, strategy=s).values for s in (ClosedForm(0.1), Replay(0.1))
    )
    np.testing.assert_allclose(found, real, rtol=1e-10)


def hooked():
    model = TwoLayer((5,), width=3)
    model.hidden.register_forward_hook(lambda *_: None)
    return model


def half_frozen():
    model = TwoLayer((5,), width=3)
    model.hidden.bias.requires_grad_(False)
    return model


def shared():
    layer = nn.Linear(1, 1)
    return nn.Sequential(layer, nn.ReLU(), layer)


class Doubled(TwoLayer):
    def forward(self, inputs):
        return 2 * super().forward(inputs)


@pytest.mark.parametrize(
    ("model", "why"),
    [
        (CNN((1, 16, 16)), "a CNN"),
        (ThreeLayer((5,), width=3), "a ThreeLayer"),
        (Doubled((5,), width=3), "a Doubled"),
        (hooked(), "hook"),
        (half_frozen(), "frozen"),
        (shared(), "share"),
        (TwoLayer((5,), width=3).half(), "float16"),
        (nn.Sequential(nn.Linear(5, 3), nn.Tanh(), nn.Linear(3, 1)), "Tanh"),
        (nn.Sequential(nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 2)), "more than one output"),
        (nn.Sequential(nn.Linear(5, 3, bias=False), nn.ReLU(), nn.Linear(3, 1)), "no bias"),
        (
            nn.Sequential(nn.Linear(5, 3), nn.Dropout(), nn.ReLU(), nn.Linear(3, 1)),
            "layers are not",
        ),
        (nn.Sequential(nn.Flatten(0), nn.Linear(5, 3), nn.ReLU(), nn.Linear(3, 1)), "Flatten"),
    ],
)
def test_refuses_what_it_cannot(model, why):
    assert why in two_layer(model)
    with pytest.raises(ModelError, match=f"{why}.*use Replay"):
        measured(ClosedForm(0.1), model, SquaredLoss(), Frozen())
