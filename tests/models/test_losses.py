from __future__ import annotations

import math

import pytest
import torch

from localelastic.errors import DataError
from localelastic.models import CrossEntropy, Probability, Scalar, SquaredLoss

POINTS = [(-3.0, 0.0), (-0.2, 1.0), (0.7, 0.0), (2.5, 1.0), (0.3, 0.25)]


@pytest.mark.parametrize("loss", [SquaredLoss(), CrossEntropy()])
@pytest.mark.parametrize("prediction", [Scalar(), Probability()])
@pytest.mark.parametrize(("z", "y"), POINTS)
def test_slopes_are_derivatives(loss, prediction, z, y):
    """dL/dz by autograd, and dL/df as its ratio to df/dz."""
    output = torch.tensor([z], dtype=torch.float64, requires_grad=True)
    target = torch.tensor([y], dtype=torch.float64)
    (by_output,) = torch.autograd.grad(loss.value(output, target).sum(), output)
    (of_prediction,) = torch.autograd.grad(prediction.of(output).sum(), output)
    torch.testing.assert_close(loss.output_slope(output, target), by_output)
    torch.testing.assert_close(prediction.slope(output), of_prediction)
    torch.testing.assert_close(loss.slope(output, target, prediction), by_output / of_prediction)


@pytest.mark.parametrize(
    ("y", "expected"), [(1.0, -(1 + math.exp(-0.4))), (0.0, 1 + math.exp(0.4))]
)
def test_cross_entropy_slope_at_the_probability(y, expected):
    """By hand: dL/df is -1/f for a target of 1, and 1/(1 - f) for 0."""
    z, target = torch.tensor([0.4], dtype=torch.float64), torch.tensor([y], dtype=torch.float64)
    assert CrossEntropy().slope(z, target, Probability()).item() == pytest.approx(expected)


@pytest.mark.parametrize("z", [-200.0, -30.0, 30.0, 200.0])
def test_saturation_keeps_its_precision(z):
    """dL/df at the right target is -(1 + exp(-z)); one minus the probability is never formed."""
    output, one = torch.tensor([z], dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    slope = CrossEntropy().slope(output, one, Probability()).item()
    assert slope == pytest.approx(-(1 + math.exp(-z)), rel=1e-12)


@pytest.mark.parametrize("z", [-40.0, -1.0, 0.0, 3.0, 40.0])
@pytest.mark.parametrize("shift", [-2.0, -1e-9, 0.0, 1e-9, 2.0])
def test_change_of_probability_without_cancellation(z, shift):
    """Against the textbook form s(z)(1 - s(z)) u for small u, and the difference for large."""
    output, moved = torch.tensor([z], dtype=torch.float64), torch.tensor([shift]).double()
    found = Probability().change(output, moved).item()
    if abs(shift) < 1e-6:
        expected = math.exp(-abs(z)) / (1 + math.exp(-abs(z))) ** 2 * moved.item()
        assert found == pytest.approx(expected, rel=1e-8)
    else:
        plain = (torch.sigmoid(output + moved) - torch.sigmoid(output)).item()
        assert found == pytest.approx(plain, rel=1e-6, abs=1e-15)
    assert math.copysign(1, found) == math.copysign(1, shift) or found == 0


def test_half_in_the_squared_loss():
    value = SquaredLoss().value(torch.tensor([3.0]), torch.tensor([1.0]))
    assert value.item() == 2.0


def test_coding():
    assert (SquaredLoss().primary_target, SquaredLoss().auxiliary_target) == (1.0, -1.0)
    assert (CrossEntropy().primary_target, CrossEntropy().auxiliary_target) == (1.0, 0.0)


def test_targets_outside_the_range_are_refused():
    CrossEntropy().check_targets(torch.tensor([0.0, math.nan, 1.0]))
    SquaredLoss().check_targets(torch.tensor([-7.0, 9.0]))
    with pytest.raises(DataError, match=r"between 0 and 1, got -1"):
        CrossEntropy().check_targets(torch.tensor([1.0, -1.0]))
