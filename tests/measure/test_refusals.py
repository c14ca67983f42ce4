"""What has no meaning is refused in words, before any work, on every way in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from bare import world
from torch import nn
from torch.nn import functional

from localelastic import (
    DataError,
    Examples,
    Logits,
    LogProbability,
    ModelError,
    Relative,
    prediction_change,
    preflight,
    similarity_matrix,
)
from worlds import points

X = points(8, (4,)).float()


def classifier() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, 3)


def labelled(*ignored: int) -> Examples:
    targets = torch.arange(8) % 3
    targets[list(ignored)] = -100
    return Examples.of(X, targets=targets)


@pytest.mark.parametrize(
    ("step_on", "probes", "said"),
    [
        (
            labelled().take([0]),
            labelled(7),
            r"probes: .*got -100 \(ignored\) at 1 of 8.*position 7",
        ),
        (labelled(7).take([7]), labelled(), r"step_on: .*at 1 of 1 examples"),
        (labelled(5, 7).take([2, 3, 5, 7]), labelled(), r"step_on: .*at 2 of 4.*position 2"),
    ],
)
def test_an_ignored_class_cannot_be_watched(step_on, probes, said):
    model = classifier()
    before = world(model)
    with pytest.raises(DataError, match=said):
        prediction_change(model, step_on, probes)
    assert world(model) == before


def test_an_ignored_class_is_refused_by_preflight_and_matrix():
    with pytest.raises(DataError, match=r"got -100 \(ignored\) at 1 of 8"):
        preflight(classifier(), labelled(7))
    with pytest.raises(DataError, match=r"got -100 \(ignored\) at 1 of 8"):
        similarity_matrix(
            classifier(), labelled(7), prediction=LogProbability(), similarity=Relative()
        )


def test_an_ignored_member_of_a_mini_batch_counts_for_nothing_where_logits_are_watched():
    settings = {"prediction": Logits(), "lr": 0.1}
    batch = labelled(3)
    found = prediction_change(classifier(), batch.take([2, 3]), X, **settings)
    alone = prediction_change(classifier(), batch.take([2]), X, **settings)
    np.testing.assert_allclose(found.change, alone.change, atol=1e-6)
    assert np.abs(found.change).max() > 1e-3


@pytest.mark.parametrize("loss", [None, functional.cross_entropy, nn.CrossEntropyLoss()])
def test_a_step_on_ignored_classes_alone_is_refused(loss):
    batch, settings = labelled(3, 4), {"prediction": Logits(), "loss": loss}
    with pytest.raises(DataError, match=r"got -100 \(ignored\) at all 2 examples"):
        prediction_change(classifier(), batch.take([3, 4]), X, **settings)
    told = preflight(classifier(), batch, step_on=["3", "4"], **settings)
    assert [one.check for one in told.warnings] == ["step"]
    assert not preflight(classifier(), batch, step_on=["2", "3"], **settings).warnings


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        (torch.ones(8, 5), r"inputs of \(\d, 5\) float32: RuntimeError: mat1 and mat2"),
        (torch.ones(8, 4, dtype=torch.long), r"\(\d, 4\) int64: RuntimeError: .*inputs.float\(\)"),
        (list("abcdefgh"), r"inputs of texts, \d of them: TypeError: .*must be Tensor"),
        ({"a": X}, r"inputs of {a: \(\d, 4\) float32}: TypeError"),
    ],
)
def test_inputs_that_the_model_does_not_take(inputs, said):
    model, given = classifier(), Examples.of(inputs, targets=torch.arange(8) % 3)
    before = world(model)
    ways = [
        lambda: prediction_change(model, given.take([0]), given),
        lambda: preflight(model, given),
        lambda: similarity_matrix(model, given, similarity=Relative()),
    ]
    for way in ways:
        with pytest.raises(ModelError, match=said) as caught:
            way()
        assert caught.value.__cause__ is not None
    assert world(model) == before


def test_probes_that_the_model_does_not_take():
    with pytest.raises(ModelError, match=r"inputs of \(3, 5\) float32"):
        prediction_change(classifier(), labelled().take([0]), torch.ones(3, 5))
