"""Layer by layer equals the Gram matrix of per-example gradients, on every kind of network."""

from __future__ import annotations

import pytest
import torch

from localelastic.change import gradient_gram, gram
from worlds import awkward_networks, fingerprint, paper_networks, points

NETWORKS = paper_networks() | awkward_networks()


def jacobian(model, inputs):
    """The obvious way: one backward pass per example, everything in one matrix."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    rows = []
    for one in inputs.split(1):
        grads = torch.autograd.grad(model(one).sum(), parameters, allow_unused=True)
        rows.append(torch.cat([g.flatten() for g in grads if g is not None]))
    return torch.stack(rows)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch_size", [3, 5, 250])
def test_equals_per_example_gradients(name, batch_size):
    model, shape = NETWORKS[name]
    inputs = points(11, shape)
    before = fingerprint(model)
    rows = jacobian(model, inputs)
    torch.testing.assert_close(
        gradient_gram(model, inputs, batch_size), rows @ rows.T, rtol=1e-12, atol=1e-12
    )
    assert fingerprint(model) == before


@pytest.mark.parametrize("name", NETWORKS)
def test_small_blocks_change_nothing(name, monkeypatch):
    model, shape = NETWORKS[name]
    inputs = points(7, shape)
    whole = gradient_gram(model, inputs)
    monkeypatch.setattr(gram, "_BLOCK_BYTES", 64)
    torch.testing.assert_close(gradient_gram(model, inputs), whole, rtol=1e-12, atol=1e-12)


def test_both_contractions_agree():
    factor = gram.OuterProducts(points(5, (4, 3)), points(5, (4, 2), seed=1))
    expected = factor.rows() @ factor.rows().T
    torch.testing.assert_close(factor._by_pairs(), expected)
    torch.testing.assert_close(factor._by_slices(), expected)


def test_known_layers_need_no_second_pass(monkeypatch):
    """The fast path is really taken: no parameter of the CNN is left to the plain way."""
    model, shape = NETWORKS["CNN-relu"]
    monkeypatch.setattr(gram, "_plain_gram", None)
    assert gradient_gram(model, points(6, shape)).shape == (6, 6)
