from __future__ import annotations

import pytest
import torch

from localelastic.change import Auto, ClosedForm, Gradient, Replay
from localelastic.models import CNN, TwoLayer
from localelastic.trajectory import Frozen, Sequential

DENSE, OTHER = TwoLayer((5,), width=3), CNN((1, 16, 16), width=3)


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
    choice = auto.choose(model, trajectory)
    assert choice.strategy == expected
    assert why in choice.why
