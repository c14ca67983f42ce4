"""Models in wrappings: scripted, compiled, called by name, with outputs inside others."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass

import pytest
import torch
from expectations import expected, labels, near, of_classes, seeded
from torch import Tensor, nn
from zoo import vectors

from localelastic import (
    Examples,
    ModelError,
    prediction_change,
)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(torch.jit.script, id="scripted"),
        pytest.param(lambda m: torch.jit.trace(m, vectors(2, 1)), id="traced"),
        pytest.param(lambda m: torch.compile(m, backend="eager"), id="compiled"),
        pytest.param(nn.DataParallel, id="parallel"),
    ],
)
def test_a27_scripted_traced_and_compiled_with_a_plain_step(make):
    plain = seeded(nn.Sequential, nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 3))
    given = of_classes(vectors(4, 0))
    wanted = prediction_change(plain, given.take([0]), given, lr=0.1)
    found = prediction_change(make(plain), given.take([0]), given, lr=0.1)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)


Returned = namedtuple("Returned", ["hidden", "logits"])


@dataclass
class Held:
    scores: Tensor
    note: str = ""


@pytest.mark.parametrize(
    ("wrap", "select"),
    [
        (lambda z, h: {"hidden": h, "logits": z}, None),
        (lambda z, h: (z, h), None),
        (lambda z, h: [z, h], None),
        (lambda z, h: Returned(h, z), None),
        (lambda z, h: Held(z), None),
        (lambda z, h: {"loss": h.mean(), "scores": z}, None),
        (lambda z, h: {"hidden": h, "scores": z}, lambda back: back["scores"]),
        (lambda z, h: (h, z), lambda back: back[1]),
    ],
)
def test_a31_outputs_in_all_kinds_of_wrapping_and_inputs_by_name(wrap, select):
    class Wrapped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.readout = nn.Linear(6, 4), nn.Linear(4, 3)

        def forward(self, features, scale=None):
            hidden = torch.tanh(self.first(features)) * scale[:, None]
            return wrap(self.readout(hidden), hidden)

    def given(n, seed):
        return {"features": vectors(n, seed), "scale": torch.arange(1.0, n + 1).double()}

    class Bare(Wrapped):
        def forward(self, features, scale=None):
            return self.readout(torch.tanh(self.first(features)) * scale[:, None])

    model, step = seeded(Wrapped), Examples.of(given(2, 0), targets=labels(2))
    found = prediction_change(model, step, given(4, 1), select=select, lr=0.1)
    wanted = expected(seeded(Bare), (given(2, 0), labels(2)), (given(4, 1), None), lr=0.1)
    near(found.change, wanted.change)
    near(found.first_order, wanted.first_order)


def test_a31_what_cannot_be_told_is_asked_for():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(6, 3)

        def forward(self, inputs):
            return {"a": self.layer(inputs), "b": inputs}

    with pytest.raises(ModelError, match="holding a, b; pass select="):
        prediction_change(seeded(Two), vectors(1, 0), vectors(2, 1))
