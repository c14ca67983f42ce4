from __future__ import annotations

import numpy as np
import pytest
import torch

from localelastic.change import Auto, ClosedForm, Gradient, Question, Replay
from localelastic.measure import similarity_matrix
from localelastic.models import CNN, SquaredLoss, TwoLayer, code
from localelastic.trajectory import Frozen, Sequential
from worlds import examples

DENSE, OTHER = TwoLayer((5,), width=3), CNN((1, 16, 16), width=3)


def question(model, trajectory, scale=0.1):
    shape = (5,) if isinstance(model, TwoLayer) else (1, 16, 16)
    sides = [examples(3, shape, seed) for seed in (0, 1)]
    for side in sides:
        side.inputs.mul_(scale)
    loss = SquaredLoss()
    return Question(model, code(*sides, loss), loss, loss.prediction, trajectory)


@pytest.mark.parametrize(
    ("auto", "model", "trajectory", "expected", "why"),
    [
        (Auto(), OTHER, Frozen(), Gradient(), "limit of small steps"),
        (Auto(), DENSE, Frozen(), Gradient(), "limit of small steps"),
        (Auto(lr=0.1), OTHER, Frozen(), Replay(0.1), "the model is a CNN"),
        (Auto(lr=0.1), DENSE, Frozen(), ClosedForm(0.1), "two dense layers"),
        (Auto(), OTHER, Sequential(), Replay(0.01), "real steps of lr=0.01"),
        (Auto(), DENSE, Sequential(), ClosedForm(0.01), "real steps of lr=0.01"),
        (
            Auto(lr=0.1, dtype=torch.float64),
            DENSE,
            Sequential(),
            ClosedForm(0.1, torch.float64),
            "lr=0.1",
        ),
    ],
)
def test_follows_its_table(auto, model, trajectory, expected, why):
    choice = auto.choose(question(model, trajectory))
    assert choice.strategy == expected
    assert why in choice.why


def test_default_step_of_a_moving_trajectory_is_stable():
    """Wide network, large inputs: 0.01 diverges; the default is 1/(2 max |df/dw|^2) by hand."""
    torch.manual_seed(0)
    model = TwoLayer((5,), width=2000)
    asked = question(model, Sequential(), scale=30)
    squares = []
    for one in asked.task.inputs.float().split(1):
        grads = torch.autograd.grad(model(one).sum(), list(model.parameters()))
        squares.append(sum(g.square().sum().item() for g in grads))
    choice = Auto().choose(asked)
    assert choice.strategy.lr == pytest.approx(0.5 / max(squares), rel=0.05)
    assert "stability limit" in choice.why
    primary, auxiliary = examples(3, (5,)), examples(3, (5,), 1)
    for side in (primary, auxiliary):
        side.inputs.mul_(30)
    matrix = similarity_matrix(model.double(), primary, auxiliary, trajectory=Sequential())
    assert not matrix.excluded
    assert matrix.lr == pytest.approx(choice.strategy.lr)
    assert np.abs(matrix.values).max() < 1e6
