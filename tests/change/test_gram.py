"""Layer by layer equals the Gram matrix of per-example gradients, on every kind of network."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from localelastic.change import factors, gradient_gram, gram, layers
from localelastic.errors import ModelError, SettingError
from localelastic.models import layers_of
from worlds import Words, awkward_networks, fingerprint, paper_networks, points

NETWORKS = paper_networks() | awkward_networks()


def jacobian(model, inputs):
    """The obvious way: one backward pass per example, everything in one matrix."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows = []
    for one in inputs.split(1):
        grads = torch.autograd.grad(model(one).sum(), parameters, allow_unused=True)
        dense = [
            torch.zeros_like(p) if g is None else g.to_dense()
            for p, g in zip(parameters, grads, strict=True)
        ]
        rows.append(torch.cat([g.flatten() for g in dense]))
    return torch.stack(rows)


@pytest.mark.parametrize("name", NETWORKS)
def test_equals_per_example_gradients(name):
    model, shape = NETWORKS[name]
    inputs = points(11, shape)
    before = fingerprint(model)
    rows = jacobian(model, inputs)
    torch.testing.assert_close(gradient_gram(model, inputs), rows @ rows.T, rtol=1e-12, atol=1e-12)
    assert fingerprint(model) == before


@pytest.mark.parametrize("name", NETWORKS)
def test_layers_come_apart(name, monkeypatch):
    """One matrix per layer, in blocks too, equal to that of its own columns of the Jacobian."""
    model, shape = NETWORKS[name]
    inputs = points(7, shape)
    weights = {n: p for n, p in model.named_parameters() if p.requires_grad}
    columns = torch.arange(sum(p.numel() for p in weights.values()))
    places = dict(zip(weights, columns.split([p.numel() for p in weights.values()]), strict=True))
    rows = jacobian(model, inputs)
    layers = list(layers_of(model).values())
    for fitting in (gram._fitting, lambda *_: 3):
        monkeypatch.setattr(gram, "_fitting", fitting)
        found, _ = gram.grams_and_way(
            model, inputs, [[weights[n] for n in names] for names in layers]
        )
        for names, one in zip(layers, found, strict=True):
            own = rows[:, torch.cat([places[n] for n in names])]
            torch.testing.assert_close(one, own @ own.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("examples", [2, 4])
def test_little_memory_changes_nothing(name, examples, monkeypatch):
    """Blocks of one or two examples, batches of two, products in slices and halves."""
    model, shape = NETWORKS[name]
    inputs = points(7, shape)
    whole = gradient_gram(model, inputs)
    monkeypatch.setattr(gram, "_BATCH", 2)
    monkeypatch.setattr(factors, "_SLICE_BYTES", 64)
    monkeypatch.setattr(factors, "_ROWS", 2)
    monkeypatch.setattr(gram, "_fitting", lambda *_: examples)
    torch.testing.assert_close(gradient_gram(model, inputs), whole, rtol=1e-12, atol=1e-12)


KNOWN = [
    "CNN-relu",
    "ResNet-relu",
    "layer used twice",
    "positions",
    "batch norm in eval",
    "signal",
    "words",
]


@pytest.mark.parametrize("name", KNOWN)
def test_known_layers_take_the_fast_way(name, monkeypatch):
    model, shape = NETWORKS[name]
    monkeypatch.setattr(gram, "_add_plain", None)
    assert gradient_gram(model, points(6, shape)).shape == (6, 6)


def test_a_wrong_rule_is_noticed(monkeypatch):
    """A rule that lies about its layer costs time, not truth."""
    model, shape = NETWORKS["TwoLayer-relu"]
    inputs = points(6, shape)
    rows = jacobian(model, inputs)

    def lies(layer, read, slope):
        yield "weight", factors.OuterProducts(2 * read[:, None], slope[:, None])

    monkeypatch.setitem(layers.RULES, torch.nn.Linear, lies)
    torch.testing.assert_close(gradient_gram(model, inputs), rows @ rows.T)


@pytest.mark.parametrize("shapes", [(5, 5), (5, 3)])
@pytest.mark.parametrize("positions", [1, 4])
def test_both_contractions_agree(shapes, positions):
    ours, theirs = (
        factors.OuterProducts(points(n, (positions, 3), n), points(n, (positions, 2), n + 1))
        for n in shapes
    )
    expected = ours.rows() @ theirs.rows().T
    torch.testing.assert_close(ours._by_pairs(theirs), expected)
    torch.testing.assert_close(ours._by_slices(theirs), expected)
    torch.testing.assert_close(ours._by_slices(ours), ours.rows() @ ours.rows().T)


def test_too_little_memory_is_said():
    model, shape = NETWORKS["TwoLayer-relu"]
    with pytest.raises(SettingError, match=r"two blocks of 1 examples, .* bytes, got 10"):
        gradient_gram(model, points(5, shape), memory=10)


class SometimesDeeper(nn.Module):
    """A layer that runs again on the examples that ask for it."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.again, self.readout = nn.Linear(6, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, inputs):
        hidden = torch.tanh(self.again(self.enter(inputs)))
        deep = inputs[:, 0] > 0.9
        if deep.any():
            hidden = hidden.index_put((deep,), torch.tanh(self.again(hidden[deep])))
        return self.readout(hidden)


class Sorted(nn.Module):
    """A layer that reads the batch in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.readout = nn.Linear(6, 4), nn.Linear(4, 1)

    def forward(self, inputs):
        order = inputs[:, 0].argsort()
        return self.readout(torch.tanh(self.layer(inputs[order])[order.argsort()]))


class InPlace(nn.Module):
    """Changes what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 1)

    def forward(self, inputs):
        return self.layer(inputs.mul_(0.9))


class Attends(nn.Module):
    """Recomputes a layer in the backward pass."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.readout = nn.Linear(6, 4), nn.Linear(4, 1)

    def forward(self, inputs):
        hidden = checkpoint(lambda x: torch.tanh(self.layer(x)), inputs, use_reentrant=False)
        return self.readout(hidden)


def sparse_words():
    model = Words()
    model.table.sparse = True
    return model


@pytest.mark.parametrize("make", [SometimesDeeper, Sorted, InPlace, Attends, sparse_words])
@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("block", [12, 3])
def test_what_the_first_examples_do_not_show(make, first, block, monkeypatch):
    """The first three are in order and ask for nothing special; later ones do."""
    monkeypatch.setattr(gram, "_fitting", lambda *_: block)
    torch.manual_seed(3)
    model = make().double()
    inputs = points(12, (6,))
    inputs[:3, 0] = torch.tensor([-3.0, -2.0, -1.0])
    inputs[5:, 0] = torch.linspace(2, -0.5, 7) if first else torch.linspace(0.5, 2, 7).flip(0)
    kept = inputs.clone()
    rows = jacobian(model, inputs.clone()) if make is not InPlace else None
    found = gradient_gram(model, inputs)
    if rows is None:
        scaled = 0.9 * inputs
        expected = scaled @ scaled.T + 1
    else:
        expected = rows @ rows.T
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    assert torch.equal(inputs, kept)


def test_detached_outputs_are_refused():
    class Detached(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(6, 1).double()

        def forward(self, inputs):
            return self.layer(inputs).detach()

    with pytest.raises(ModelError, match="depend on a trainable parameter"):
        gradient_gram(Detached(), points(5, (6,)))
