"""Arguments of another kind than expected are refused in words: expected, got, do this."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from localelastic import (
    Examples,
    InputError,
    Logits,
    LogProbability,
    Sequential,
    SettingError,
    prediction_change,
)
from worlds import points

X = points(8, (4,)).float()
CLASSES = torch.arange(8) % 3


def classifier() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(4, 3)


def change(targets=CLASSES, **settings):
    examples = Examples.of(X, targets=targets)
    return prediction_change(classifier(), examples.take([0, 1]), examples, **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, r"whole numbers from 0 to 2.*got torch.bool.*targets.long\(\)"),
        ({"prediction": LogProbability()}, r"got torch.bool.*targets.long\(\)"),
        ({"prediction": Logits()}, r"targets torch.bool \(8,\).*targets.long\(\)"),
    ],
)
def test_bools_are_no_classes(settings, said):
    step_on = Examples.of(X, targets=X[:, 0] > 0)
    with pytest.raises(InputError, match=said):
        prediction_change(classifier(), step_on, step_on, **settings)


@pytest.mark.parametrize("kind", [torch.int32, torch.uint8, torch.int16])
def test_classes_of_any_whole_kind_are_the_same(kind):
    found, wanted = change(CLASSES.to(kind)), change()
    np.testing.assert_array_equal(found.change, wanted.change)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"prediction": lambda z: z.argmax(1)}, "a step can move, got torch.int64; return scores"),
        ({"prediction": lambda z: z.detach()[:, 0]}, "differentiable, got values without a grad"),
        ({"loss": lambda z, y: z.argmax()}, "can go down, got torch.int64"),
        ({"dtype": torch.float8_e4m3fn}, "expected a dtype of torch.float64, .*float8_e4m3fn"),
    ],
)
def test_what_no_step_can_move(settings, said):
    with pytest.raises(SettingError, match=said):
        change(**settings)


def test_without_the_first_order_a_prediction_needs_no_gradient():
    found = change(prediction=lambda z: z.detach()[:, 0], first_order=False)
    assert np.abs(found.change).max() > 0


@pytest.mark.parametrize("ask", ["most", "least", "opposite"])
def test_a_number_of_probes_is_not_negative(ask):
    found = change()
    assert getattr(found, ask)(0) == []
    with pytest.raises(SettingError, match="k to be a whole number of 0 or more, got -1"):
        getattr(found, ask)(-1)


@pytest.mark.parametrize("settings", [{"n_passes": 0}, {"seed": -1}])
def test_a_trajectory_out_of_range(settings):
    with pytest.raises(SettingError, match=r"a whole number of \d or more, got"):
        Sequential(**settings)


# Without the type checks of the tests, which would refuse them first.
WRONG_KINDS = """
import torch
from torch import nn
from localelastic import *
x = Examples.of(torch.ones(3, 2))
def changed(**settings):
    return prediction_change(nn.Linear(2, 1), x, x, **settings)
calls = {
    'the class of OneClass to be a whole number, got "a"': lambda: OneClass("a"),
    'the class of OneClass to be a whole number, got 1.0': lambda: OneClass(1.0),
    'the class of OneClass to be a whole number, got True': lambda: OneClass(True),
    'n_passes to be a whole number of 1 or more, got 1.5': lambda: Sequential(n_passes=1.5),
    'seed to be a whole number of 0 or more, got "a"': lambda: Sequential(seed="a"),
    'progress to be a function': lambda: changed(progress=None),
    'progress to be a  function': lambda: similarity_matrix(nn.Linear(2, 1), x, progress=None),
    'first_order to be True or False, got "no"': lambda: changed(first_order="no"),
    'a dtype of torch.float64': lambda: changed(dtype="float32"),
    'batch_size to be a whole number of 1 or more, got 1.0': lambda: changed(batch_size=1.0),
    'a target per example, got one number, 3': lambda: Examples.of([1.0], targets=3),
    'targets as a tensor, got a list': lambda: Examples(torch.ones(1, 2), ("a",), None, [1]),
    'k to be a whole number of 0 or more, got "a"': lambda: changed().most("a"),
}
for said, call in calls.items():
    try:
        call()
    except InputError as error:
        assert said.replace("  ", " ").replace('"', "'") in str(error), error
    else:
        raise AssertionError(said)
"""


def test_wrong_kinds():
    subprocess.run([sys.executable, "-W", "ignore", "-c", WRONG_KINDS], check=True)
