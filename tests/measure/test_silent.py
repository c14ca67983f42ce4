"""Inputs on which a careless measurement gives a wrong number without a word."""

from __future__ import annotations

import copy
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from localelastic import (
    ClosedForm,
    DataError,
    Examples,
    ModelError,
    Replay,
    Sequential,
    SettingError,
    TwoLayer,
    prediction_change,
    similarity_matrix,
)
from worlds import points

D = torch.float64


def bare(model: nn.Module, x: Tensor, y: Tensor, probes: Tensor, loss, *, lr: float) -> np.ndarray:
    """Step for real, forward again; the caller gives a model of its own."""
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    before = model(probes).detach().clone()
    optimizer.zero_grad()
    loss(model(x), y).backward()
    optimizer.step()
    return (model(probes) - before).detach().squeeze(1).numpy()


def line() -> nn.Module:
    torch.manual_seed(0)
    return nn.Linear(3, 1).double()


X, PROBES = points(4, (3,)), points(5, (3,), seed=1)
COLUMN = points(4, (1,), seed=2)


@pytest.mark.parametrize("loss", [functional.mse_loss, nn.HuberLoss(), None])
def test_a_column_of_targets_is_not_broadcast(loss):
    own = loss or (lambda z, y: (z - y).square().mean() / 2)
    wanted = bare(line(), X, COLUMN, PROBES, own, lr=0.1)
    found = prediction_change(line(), Examples.of(X, targets=COLUMN), PROBES, loss=loss, lr=0.1)
    np.testing.assert_allclose(found.change, wanted, rtol=1e-12)
    primary = Examples.of(X, targets=COLUMN)
    assert similarity_matrix(line(), primary, strategy=Replay(0.1)).values.shape == (4, 4)


def test_autocast_does_not_hide_the_step():
    net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
    x, probes = X[:1].float(), PROBES.float()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = prediction_change(net, Examples.of(x, targets=[3.0]), probes, lr=0.5)
    plain = prediction_change(net, Examples.of(x, targets=[3.0]), probes, lr=0.5)
    np.testing.assert_allclose(found.change, plain.change, atol=0.05 * np.abs(plain.change).max())


class Spectral(nn.Module):
    """Complex weights."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.weight = nn.Parameter(torch.randn(3, 3, dtype=torch.complex128))
        self.layer = nn.Linear(3, 1).double()

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layer((inputs.to(self.weight.dtype) @ self.weight).abs())


def test_complex_weights_are_stepped():
    y = COLUMN[:1]
    wanted = bare(Spectral(), X[:1], y, PROBES, functional.mse_loss, lr=1e-3)
    found = prediction_change(
        Spectral(), Examples.of(X[:1], targets=y), PROBES, loss=functional.mse_loss, lr=1e-3
    )
    np.testing.assert_allclose(found.change, wanted, rtol=1e-9)
    assert found.linearity > 0.9
    model, rows = Spectral(), []
    for one in X.split(1):
        model.zero_grad()
        model(one).sum().backward()
        parts = [torch.view_as_real(p.grad) if p.is_complex() else p.grad
                 for p in model.parameters()]  # fmt: skip
        rows.append(torch.cat([part.flatten() for part in parts]))
    gram = torch.stack(rows) @ torch.stack(rows).T
    values = similarity_matrix(Spectral(), Examples.of(X)).values
    np.testing.assert_allclose(values, gram.numpy(), rtol=1e-9)


def masked() -> nn.Module:
    model = line()
    model.weight.register_hook(lambda g: g * torch.tensor([1.0, 0, 0], dtype=D))
    return model


def test_a_gradient_mask_on_a_weight_is_kept():
    y = COLUMN[:1]
    wanted = bare(masked(), X[:1], y, PROBES, functional.mse_loss, lr=0.1)
    found = prediction_change(
        masked(), Examples.of(X[:1], targets=y), PROBES, loss=functional.mse_loss, lr=0.1
    )
    np.testing.assert_allclose(found.change, wanted, rtol=1e-12)


def test_hooks_after_a_gradient_is_stored_are_refused():
    model = line()
    model.weight.register_post_accumulate_grad_hook(lambda p: None)
    with pytest.raises(ModelError, match="'weight'; remove it"):
        prediction_change(model, X[:1], PROBES)


def hooked() -> nn.Module:
    model = TwoLayer((3,), width=4).double()
    model.hidden.register_full_backward_pre_hook(lambda module, g: (g[0] * 0,))
    return model


def hidden_mask() -> nn.Module:
    model = TwoLayer((3,), width=4).double()
    model.hidden.weight.register_hook(lambda g: g * 0)
    return model


def replaced() -> nn.Module:
    model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).double()
    model.forward = partial(nn.Sequential.forward, model)
    return model


@pytest.mark.parametrize("make", [hooked, hidden_mask, replaced])
def test_the_closed_form_sees_what_changes_a_step(make):
    with pytest.raises(ModelError, match=r"hook|replaced"):
        similarity_matrix(make(), Examples.of(X), strategy=ClosedForm(0.1))


def test_a_function_in_place_of_forward_is_refused():
    model = line()
    old = model.forward
    model.forward = lambda x: old(x)
    with pytest.raises(ModelError, match="write it into a subclass"):
        prediction_change(model, X[:1], PROBES)


class Scaled(nn.Module):
    """A tensor that only the optimizer knows to be a weight."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.extra = line(), torch.ones(3, dtype=D, requires_grad=True)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layer(inputs * self.extra)


def test_tensors_of_the_optimizer_are_stepped():
    y = COLUMN[:1]
    model, twin = Scaled(), Scaled()
    weights = [*twin.parameters(), twin.extra]
    twin.parameters = lambda: iter(weights)
    wanted = bare(twin, X[:1], y, PROBES, functional.mse_loss, lr=0.1)
    optimizer = torch.optim.SGD([*model.parameters(), model.extra], lr=0.1)
    found = prediction_change(
        model,
        Examples.of(X[:1], targets=y),
        PROBES,
        loss=functional.mse_loss,
        optimizer=optimizer,
    )
    np.testing.assert_allclose(found.change, wanted, rtol=1e-12)


def test_a_batch_sampler_that_shuffles_is_refused_and_a_loader_draws_nothing():
    data = TensorDataset(torch.arange(12.0)[:, None], torch.arange(12.0))
    shuffled = DataLoader(data, batch_sampler=BatchSampler(RandomSampler(data), 5, True))
    with pytest.raises(DataError, match="RandomSampler"):
        Examples.of(shuffled)
    state = torch.get_rng_state()
    assert Examples.of(DataLoader(data, batch_size=5)).inputs.flatten().tolist() == [*range(12)]
    assert torch.equal(torch.get_rng_state(), state)


class Lazy(nn.Module):
    """Fills a buffer at the first forward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = line()
        self.register_buffer("mean", None)

    def forward(self, inputs: Tensor) -> Tensor:
        if self.mean is None:
            self.mean = inputs.detach().mean(0)
        return self.layer(inputs - self.mean)


def test_a_buffer_that_was_none_is_none_again():
    found = prediction_change(Lazy(), X[:1], PROBES, lr=0.1)
    with torch.no_grad():
        np.testing.assert_allclose(found.before, Lazy()(PROBES).squeeze(1).numpy(), rtol=1e-12)


def test_predictions_that_draw_leave_the_random_state():
    state = torch.get_rng_state()
    prediction_change(
        line(), X[:1], PROBES, prediction=lambda z: functional.dropout(z[:, None], 0.5)[:, 0]
    )
    assert torch.equal(torch.get_rng_state(), state)


def test_a_loss_that_writes_into_targets_writes_into_a_copy():
    target = torch.ones(1, dtype=D)
    kept = copy.deepcopy(target)
    prediction_change(
        line(),
        Examples.of(X[:1], targets=target),
        PROBES,
        loss=lambda z, y: (y.sub_(z.detach()) * z).mean(),
    )
    assert torch.equal(target, kept)


def test_targets_made_in_inference_mode():
    with torch.inference_mode():
        labels = torch.tensor([1, 0])
    model = nn.Linear(3, 2).double()
    found = prediction_change(model, Examples.of(X[:2], targets=labels), PROBES)
    assert np.isfinite(found.change).all()


class Lengths(nn.Module):
    """Texts in, with a second argument that has a default."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(1, 1)

    def forward(self, texts: list[str], scale: float = 1.0) -> Tensor:
        return self.layer(scale * torch.tensor([[float(len(text))] for text in texts]))


def test_a_list_of_texts_is_one_argument():
    found = prediction_change(Lengths(), ["abc"], ["a", "abcd"], lr=0.01)
    assert found.change.shape == (2,)


def test_too_little_memory_is_refused_before_any_work():
    from localelastic.change import Gradient

    with pytest.raises(SettingError, match=r"two blocks of 6 examples.*give more memory"):
        similarity_matrix(
            TwoLayer((3,), width=50), Examples.of(points(300, (3,)).float()),
            strategy=Gradient(memory=1000),
        )  # fmt: skip


def test_large_steps_through_sigmoid_units_do_not_overflow():
    from localelastic import Activation

    torch.manual_seed(0)
    model = TwoLayer((3,), width=5, activation=Activation.SIGMOID).double()
    with torch.no_grad():
        model.readout.weight.mul_(100)
    for trajectory in (None, Sequential()):
        kinds = {} if trajectory is None else {"trajectory": trajectory}
        both = [
            similarity_matrix(
                model, Examples.of(X), Examples.of(PROBES), strategy=strategy, **kinds
            ).values
            for strategy in (ClosedForm(0.5), Replay(0.5))
        ]
        np.testing.assert_allclose(*both, rtol=1e-8)
