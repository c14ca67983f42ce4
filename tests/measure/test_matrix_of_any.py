"""``similarity_matrix`` of any loss, optimizer and prediction equals the bare loop."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from bare import bare_loop, world
from test_effect import TASKS, WALKERS, WATCHED, Row
from zoo import KINDS, vectors

from localelastic import (
    Examples,
    Kernelized,
    OneClass,
    Relative,
    Replay,
    SignedRelative,
    similarity_matrix,
)

N = 3
ROWS = [
    *(Row(walker=name, watching="logits") for name in WALKERS),
    *(Row(task=name, watching="scalar" if TASKS[name].out == 1 else "logits") for name in TASKS),
    *(Row(watching=name) for name in WATCHED),
    *(Row(kind=name, watching="one class") for name in list(KINDS)[::4]),
    Row(kind="GRU", walker="AdamW, warm"),
]
ROWS = list(dict.fromkeys(row for row in ROWS if row.possible))


def length(values: np.ndarray) -> np.ndarray:
    return np.abs(values) if values.ndim == 1 else np.linalg.norm(values, axis=1)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_relative_similarity_equals_the_bare_loop(row):
    kind, task, watching = KINDS[row.kind], TASKS[row.task], WATCHED[row.watching]
    inputs, targets = kind.inputs(N, 2), task.targets(N, 2)

    def pair():
        model = kind.model(task.out)
        return model, WALKERS[row.walker].of(model, kind.inputs(4, 9))

    def one(values, i):
        if isinstance(values, dict):
            return {name: value[i : i + 1] for name, value in values.items()}
        return values[i : i + 1]

    expected = []
    for i in range(N):
        found = bare_loop(
            *pair(),
            (one(inputs, i), one(targets, i)),
            (inputs, targets),
            task.bare or task.loss,
            watching.bare,
            linear=False,
        )
        expected.append(length(found.change) / length(found.change)[i])
    model, optimizer = pair()
    before = world(model, optimizer)
    matrix = similarity_matrix(
        model,
        Examples.of(inputs, targets=targets),
        loss=task.loss,
        optimizer=optimizer,
        prediction=watching.prediction,
        similarity=Relative(),
    )
    assert world(model, optimizer) == before
    assert matrix.excluded == ()
    expected = np.stack(expected)
    tolerance = 1e-5 if row.kind == "two precisions" else 1e-8
    np.testing.assert_allclose(matrix.values, expected, rtol=0, atol=tolerance * expected.max())
    assert np.abs(expected - np.eye(N)).max() > 1e-3
    assert matrix.exact


@pytest.mark.parametrize("lr", [0.1, 1e-6])
def test_kernelized_of_the_log_probability_divides_by_minus_the_step(lr):
    """``dL/df = -1`` for cross-entropy and the log-probability of the target."""
    kind, task = KINDS["layer norm"], TASKS["cross-entropy"]
    inputs, targets = kind.inputs(N, 2), task.targets(N, 2)
    matrix = similarity_matrix(
        kind.model(3),
        Examples.of(inputs, targets=targets),
        loss=task.loss,
        similarity=Kernelized(),
        strategy=Replay(lr),
    )
    for i in range(N):
        model = kind.model(3)
        found = bare_loop(
            model,
            torch.optim.SGD(model.parameters(), lr=lr),
            (inputs[i : i + 1], targets[i : i + 1]),
            (inputs, targets),
            task.loss,
            WATCHED["log-probability"].bare,
            linear=False,
        )
        wanted = found.change / lr
        np.testing.assert_allclose(matrix.values[i], wanted, atol=1e-7 * np.abs(wanted).max())


def test_a_sign_is_kept_where_there_is_one():
    points = vectors(2, 0)
    given = Examples.of(torch.cat([points, -points]), targets=torch.tensor([0, 1, 2, 0]))
    line = torch.nn.Linear(6, 3, bias=False).double()
    signed, plain = (
        similarity_matrix(
            line, given, prediction=OneClass(0), similarity=each, strategy=Replay(0.1)
        ).values
        for each in (SignedRelative(), Relative())
    )
    np.testing.assert_allclose(signed[0, 2], -1)
    np.testing.assert_allclose(np.abs(signed), plain)
