"""A loss whose targets have another shape than the outputs does not broadcast them unsaid."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import nn
from torch.nn import functional

from localelastic import (
    DataError,
    Examples,
    Relative,
    Replay,
    prediction_change,
    preflight,
    similarity_matrix,
)
from worlds import points

X = points(8, (4,)).float()


def given(*shape: int) -> Examples:
    return Examples.of(X, targets=points(8, shape).float().sigmoid())


def wide(outputs: int = 8) -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, outputs)


def own(output, target):
    return ((output - target) ** 2).mean()


ELEMENTWISE = [
    functional.mse_loss,
    partial(functional.mse_loss, reduction="sum"),
    nn.L1Loss(),
    nn.SmoothL1Loss(),
    nn.HuberLoss(),
    nn.BCEWithLogitsLoss(reduction="none"),
]


@pytest.mark.filterwarnings("ignore:Using a target size")
@pytest.mark.parametrize("shape", [(), (1,)])
@pytest.mark.parametrize("loss", ELEMENTWISE)
def test_elementwise_losses_of_pytorch_refuse_another_shape(loss, shape):
    examples, said = given(*shape), r"targets of the shape of the outputs, \(\d, 8\), got"
    for step_on in (examples, examples.take([2])):
        with pytest.raises(DataError, match=said):
            prediction_change(wide(), step_on, X, loss=loss)
    with pytest.raises(DataError, match=said):
        preflight(wide(), examples, loss=loss)
    with pytest.raises(DataError, match=said):
        similarity_matrix(
            wide(), examples, loss=loss, similarity=Relative(), strategy=Replay(lr=0.1)
        )


def test_one_output_against_several_targets_is_refused_too():
    with pytest.raises(DataError, match=r"of the outputs, \(8,\), got \(8, 8\)"):
        prediction_change(wide(1), given(8), X, loss=nn.MSELoss())


def notes(model, examples, loss):
    found = prediction_change(model, examples, X, loss=loss, lr=1e-3).notes
    told = [one.found for one in preflight(model, examples, loss=loss).findings]
    return [[note for note in each if "broadcasts them" in note] for each in (found, told)]


class Own(nn.Module):
    def forward(self, output, target):
        return own(output, target)


@pytest.mark.parametrize("loss", [own, Own(), partial(own)])
def test_a_loss_of_the_users_own_is_noted(loss):
    for found in notes(wide(), given(), loss):
        assert len(found) == 1
        assert "shape (8,) per example with targets of shape ()" in found[0]


@pytest.mark.parametrize(
    ("model", "examples", "loss"),
    [
        (wide(), given(8), own),
        (wide(), given(8), nn.MSELoss()),
        (wide(1), given(), own),
        (wide(1), given(1), own),
        (wide(1), given(1), nn.MSELoss()),
        (wide(), Examples.of(X, targets=torch.arange(8)), lambda z, y: functional.nll_loss(z, y)),
        (wide(), given(8), nn.CrossEntropyLoss()),
    ],
)
def test_what_fits_is_not_noted(model, examples, loss):
    assert notes(model, examples, loss) == [[], []]
