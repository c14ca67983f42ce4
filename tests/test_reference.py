"""Replay equals the 36 reference cases: predictions, slopes and every similarity."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from localelastic.change import Question, Replay
from localelastic.data.examples import Examples
from localelastic.measure import similarity_matrix
from localelastic.models import Activation, CrossEntropy, SquaredLoss, TwoLayer, code
from localelastic.shapes import silent
from localelastic.similarity import Kernelized, NormalizedKernelized, Relative, SignedRelative
from localelastic.trajectory import Frozen, InOrder

CASES = json.loads((Path(__file__).parent / "reference/algorithm1_small.json").read_text())["cases"]
LOSS = {"squared": SquaredLoss(), "bce": CrossEntropy()}


def name(case: dict) -> str:
    return f"{case['seed']}-{case['loss']}-{case['activation']}-{case['mode']}"


def world(case: dict):
    weights = {
        key: torch.tensor(value, dtype=torch.float64) for key, value in case["weights"].items()
    }
    model = TwoLayer((3,), width=5, activation=Activation(case["activation"])).double()
    with torch.no_grad():
        model.hidden.weight.copy_(weights["W"])
        model.hidden.bias.copy_(weights["b"])
        model.readout.weight.copy_(weights["a"][None])
        model.readout.bias.copy_(weights["c"])
    primary, auxiliary = (Examples.of(np.array(case[side])) for side in ("primary", "auxiliary"))
    trajectory = Frozen() if case["mode"] == "frozen" else InOrder(tuple(case["order"]))
    return model, primary, auxiliary, LOSS[case["loss"]], trajectory


@pytest.mark.parametrize("case", CASES, ids=name)
def test_change_and_slope(case):
    model, primary, auxiliary, loss, trajectory = world(case)
    question = Question(model, code(primary, auxiliary, loss), loss, loss.prediction, trajectory)
    (found,) = Replay(case["lr"]).changes(question, silent)
    np.testing.assert_allclose(found.change, case["prediction_change"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.unit / case["lr"], case["loss_slope"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=name)
@pytest.mark.parametrize(
    ("key", "similarity", "symmetric"),
    [
        ("relative", Relative(), False),
        ("relative_signed", SignedRelative(), False),
        ("kernelized", Kernelized(), False),
        ("kernelized_symmetric", Kernelized(), True),
        ("normalized_kernelized", NormalizedKernelized(), True),
    ],
)
def test_similarity(case, key, similarity, symmetric):
    model, primary, auxiliary, loss, trajectory = world(case)
    matrix = similarity_matrix(
        model,
        primary,
        auxiliary,
        loss=loss,
        similarity=similarity,
        trajectory=trajectory,
        strategy=Replay(case["lr"]),
    )
    found = matrix.symmetric if symmetric else matrix.values
    np.testing.assert_allclose(found, case[key], rtol=0, atol=1e-9)
    assert not matrix.excluded
