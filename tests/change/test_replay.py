from __future__ import annotations

import copy
import math

import numpy as np
import pytest
import torch
from torch import nn

from localelastic.change import Gradient, Question, Replay
from localelastic.data.examples import Examples
from localelastic.errors import MeasurementError, ModelError, SettingError
from localelastic.measure import similarity_matrix
from localelastic.models import CrossEntropy, Probability, SquaredLoss, TwoLayer, code
from localelastic.shapes import silent
from localelastic.trajectory import Frozen, InOrder, Sequential
from worlds import awkward_networks, examples, fingerprint, paper_networks, points

NETWORKS = paper_networks() | awkward_networks()
LR = 0.1
LOSSES = [SquaredLoss(), CrossEntropy()]


def bare_loop(model, inputs, targets, n, order, loss, lr, moves):
    """Copy the model, step with the real optimizer, forward again: nothing of ours."""
    rows = np.zeros((n, n))
    walker = copy.deepcopy(model)
    for i in order:
        if not moves:
            walker = copy.deepcopy(model)
        before = loss.prediction.of(walker(inputs[:n]).flatten()).detach()
        optimizer = torch.optim.SGD([p for p in walker.parameters() if p.requires_grad], lr=lr)
        loss.value(walker(inputs[i : i + 1]).flatten(), targets[i : i + 1]).sum().backward()
        optimizer.step()
        walker.zero_grad()
        if i < n:
            rows[i] = (loss.prediction.of(walker(inputs[:n]).flatten()).detach() - before).numpy()
    return rows


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("name", NETWORKS)
def test_equals_the_bare_loop(name, moves, loss):
    """A step large enough to flip ReLU gates, so that first order would be wrong."""
    model, shape = NETWORKS[name]
    primary, auxiliary = examples(5, shape), examples(3, shape, seed=1)
    task = code(primary, auxiliary, loss)
    order = (6, 2, 0, 5, 3, 1, 7, 4)
    trajectory = InOrder(order) if moves else Frozen()
    before = fingerprint(model)
    question = Question(model, task, loss, loss.prediction, trajectory)
    (found,) = Replay(LR).changes(question, silent)
    expected = bare_loop(
        model, task.inputs, task.targets, 5, order if moves else range(5), loss, LR, moves
    )
    assert 1e-6 < np.abs(expected).max() < 1e3
    np.testing.assert_allclose(found.change, expected, rtol=0, atol=1e-12)
    assert fingerprint(model) == before


def test_steps_here_do_flip_gates():
    """The table above is not first order in disguise."""
    model, shape = NETWORKS["TwoLayer-relu"]
    primary = examples(5, shape)
    finite = similarity_matrix(model, primary, strategy=Replay(LR)).values
    limit = similarity_matrix(model, primary, strategy=Gradient()).values
    assert np.abs(finite - limit).max() > 1e-2


@pytest.mark.parametrize("strategy", [Replay(0.1), Replay(0.1, dtype=torch.float64), Gradient()])
def test_leaves_the_world_untouched_also_when_an_exception_flies(strategy):
    class Breaks(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.drop = nn.Linear(2, 1), nn.Dropout(0.5)
            self.calls = 0

        def forward(self, inputs):
            self.calls += 1
            if self.calls > 4:
                raise RuntimeError("user code")
            return self.drop(self.layer(inputs))

    model = Breaks()
    model.drop.eval()
    before, random, dtype = fingerprint(model), torch.get_rng_state(), torch.get_default_dtype()
    with pytest.raises((RuntimeError, ModelError), match="user code"):
        similarity_matrix(
            model, Examples.of(torch.randn(9, 2, generator=torch.Generator())), strategy=strategy
        )
    assert fingerprint(model) == before
    assert torch.equal(torch.get_rng_state(), random)
    assert torch.get_default_dtype() == dtype


def test_dropout_in_train_mode_is_no_change():
    """The same mask before and after: a tiny step moves predictions a tiny bit."""
    model = nn.Sequential(nn.Linear(6, 20), nn.Dropout(0.5), nn.Linear(20, 1)).double().train()
    primary = examples(4)
    matrix = similarity_matrix(model, primary, strategy=Replay(1e-9))
    assert np.abs(matrix.values).max() < 1e3


def test_buffers_written_by_a_forward_are_no_change():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 1).double()
            self.register_buffer("calls", torch.zeros((), dtype=torch.float64))

        def forward(self, inputs):
            self.calls += 1
            return self.layer(inputs) + self.calls

    model = Counts()
    plain = similarity_matrix(model.layer, examples(3), strategy=Replay(0.1))
    counted = similarity_matrix(model, examples(3), strategy=Replay(0.1))
    # The count shifts the output and with it the slope, but not the change per unit of slope.
    np.testing.assert_allclose(counted.values, plain.values)


def test_passes_are_averaged():
    model, shape = NETWORKS["TwoLayer-relu"]
    primary, auxiliary = examples(4, shape), examples(3, shape, seed=1)

    def matrix(trajectory):
        return similarity_matrix(
            model, primary, auxiliary, trajectory=trajectory, strategy=Replay(0.05)
        ).values

    first, second = Sequential(2, seed=3).passes(4, 3)
    assert sorted(first) == sorted(second) == list(range(7))
    assert first != second
    both = code(primary, auxiliary, SquaredLoss())
    question = Question(model, both, SquaredLoss(), SquaredLoss().prediction, Sequential(2, seed=3))
    passes = [-c.change / c.unit[:, None] for c in Replay(0.05).changes(question, silent)]
    np.testing.assert_allclose(matrix(Sequential(2, seed=3)), np.mean(passes, axis=0))
    np.testing.assert_allclose(matrix(InOrder(tuple(first))), passes[0])


def test_a_nan_target_is_refused_and_poisons_nothing():
    model, shape = NETWORKS["TwoLayer-relu"]
    inputs = points(4, shape)
    clean = Examples.of(inputs, targets=[1.0, -1.0, 0.5, 2.0])
    holed = Examples.of(inputs, targets=[1.0, math.nan, 0.5, 2.0])
    auxiliary = examples(1, shape, seed=1)
    order, without = (0, 1, 2, 3, 4), (0, 2, 3, 4)
    found = similarity_matrix(
        model, holed, auxiliary, trajectory=InOrder(order), strategy=Replay(0.1)
    )
    assert found.excluded == (("1", "the target is not finite: step refused"),)
    expected = similarity_matrix(
        model,
        clean.take([0, 2, 3]),
        auxiliary,
        trajectory=InOrder(tuple(0 if i == 0 else i - 1 for i in without)),
        strategy=Replay(0.1),
    )
    np.testing.assert_allclose(found.values, expected.values, rtol=1e-12)


def test_an_example_fitted_exactly_is_left_out():
    model = nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        model.weight.fill_(1.0)
    primary = Examples.of(torch.tensor([[1.0], [2.0]], dtype=torch.float64))
    matrix = similarity_matrix(model, primary, strategy=Replay(0.1))
    assert matrix.excluded == (("0", "no step: the example is fitted exactly"),)
    # f = w x, so S_ker(2, 2) = 4.
    np.testing.assert_allclose(matrix.values, [[4.0]])


def test_divergence_is_reported_and_not_returned():
    model, shape = NETWORKS["TwoLayer-relu"]
    with pytest.raises(MeasurementError, match="none of the 4 steps had a meaning"):
        similarity_matrix(model, examples(4, shape), strategy=Replay(1e308))


def test_a_saturated_probability_is_finite():
    model = nn.Linear(1, 1, bias=False).double()
    with torch.no_grad():
        model.weight.fill_(200.0)
    primary = Examples.of(torch.tensor([[1.0], [-1.0]], dtype=torch.float64), targets=[0.0, 0.0])
    matrix = similarity_matrix(
        model, primary, loss=CrossEntropy(), prediction=Probability(), strategy=Replay(1e-3)
    )
    assert np.isfinite(matrix.values).all()
    # By hand: dz = -lr (p - y) x x = -1e-3; S = s(z') s(-z) (1 - exp(-dz)) / (lr (1 + exp(z))).
    expected = -math.exp(-200) * math.expm1(-1e-3) / 1e-3 / (1 + math.exp(200))
    assert matrix.values[0, 0] == pytest.approx(expected * math.exp(1e-3), rel=1e-9)


def test_frozen_only_and_other_outputs_are_refused():
    model = TwoLayer((2,), width=3)
    primary = examples(3, (2,))
    with pytest.raises(SettingError, match="logits with model's own loss, which has none"):
        similarity_matrix(nn.Linear(2, 2).double(), primary)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    with pytest.raises(ModelError, match="all frozen"):
        similarity_matrix(model, primary)


@pytest.mark.parametrize("lr", [0.0, -1.0, math.inf, math.nan])
def test_step_size_must_be_positive(lr):
    with pytest.raises(SettingError, match="positive"):
        Replay(lr)


def test_orders_must_visit_each_example_once():
    model, shape = NETWORKS["TwoLayer-relu"]
    with pytest.raises(SettingError, match="each once"):
        similarity_matrix(
            model, examples(2, shape), examples(1, shape), trajectory=InOrder((0, 1, 1))
        )
    with pytest.raises(SettingError, match="auxiliary"):
        similarity_matrix(model, examples(2, shape), trajectory=Sequential())
