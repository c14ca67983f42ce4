"""A measurement leaves model, optimizer and random states as they are, also when it fails."""

from __future__ import annotations

import functools
import gc
import subprocess
import sys

import pytest
import torch
from bare import world
from torch import Tensor, nn, optim
from torch.nn import functional
from zoo import KINDS, vectors

from localelastic import (
    Examples,
    ModelError,
    Relative,
    Replay,
    prediction_change,
    similarity_matrix,
)

CALLS = {
    "prediction_change": lambda model, examples, optimizer: prediction_change(
        model, examples.take([0]), examples, optimizer=optimizer
    ),
    "similarity_matrix": lambda model, examples, optimizer: similarity_matrix(
        model,
        examples,
        loss=functional.cross_entropy,
        similarity=Relative(),
        optimizer=optimizer,
    ),
    "similarity_matrix, slope": lambda model, examples, optimizer: similarity_matrix(
        model, examples, loss=functional.cross_entropy
    ),
}


class Fragile(nn.Module):
    """Raises in the middle of the ``at``-th call, counted over all copies."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(6, 4).double(), nn.BatchNorm1d(4).double()
        self.drop, self.readout = nn.Dropout(0.5), nn.Linear(4, 3).double()
        self.norm.eval()
        self.register_buffer("calls", torch.zeros((), dtype=torch.float64))
        self.count = Count(at)

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        torch.rand(1)
        hidden = self.drop(self.norm(self.first(inputs)))
        self.count.up()
        return self.readout(hidden)


class Count:
    """Of all copies together."""

    def __init__(self, at: int) -> None:
        self.at, self.calls = at, 0

    def __deepcopy__(self, memo: dict[int, object]) -> Count:
        return self

    def up(self) -> None:
        self.calls += 1
        if self.calls == self.at:
            raise RuntimeError("of the user's forward")


def examples() -> Examples:
    return Examples.of(vectors(4, 0), targets=torch.tensor([0, 1, 2, 1]))


def warm(model: nn.Module) -> optim.Optimizer:
    """An optimizer with a past; gradients of its last step are left on the model."""
    optimizer = optim.AdamW(model.parameters(), lr=0.01)
    model(vectors(4, 5)).square().mean().backward()
    optimizer.step()
    return optimizer


@pytest.mark.parametrize("call", CALLS)
def test_when_all_goes_well(call):
    model = Fragile(at=-1)
    optimizer = warm(model)
    model.first.register_forward_hook(lambda *_: None)
    before = world(model, optimizer)
    CALLS[call](model, examples(), optimizer)
    assert world(model, optimizer) == before
    assert model.count.calls > 3


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("call", CALLS)
def test_when_the_forward_raises(call, at):
    model = Fragile(at=-1)
    optimizer = warm(model)
    model.count = Count(at)
    before = world(model, optimizer)
    with pytest.raises((RuntimeError, ModelError), match="of the user's forward"):
        CALLS[call](model, examples(), optimizer)
    assert model.count.calls == at
    assert world(model, optimizer) == before


@pytest.mark.parametrize("name", ["loss", "prediction", "optimizer", "call", "select"])
def test_when_another_function_raises(name):
    def fails(*_: object) -> None:
        raise KeyError("of the user")

    model = Fragile(at=-1)
    warm(model)
    before = world(model)
    # A loss that fails is told with what it was given.
    with pytest.raises((KeyError, ValueError), match="of the user"):
        prediction_change(model, examples().take([0]), examples(), **{name: fails})
    assert world(model) == before


def test_when_progress_stops_it():
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    model = Fragile(at=-1)
    before = world(model)
    with pytest.raises(KeyboardInterrupt):
        prediction_change(model, examples().take([0]), examples(), progress=stop)
    assert world(model) == before


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_many_calls_leave_nothing_behind(call):
    model = KINDS["full backward hook"].model(3)
    given = examples()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def alive() -> int:
        gc.collect()
        return sum(issubclass(type(thing), Tensor) for thing in gc.get_objects())

    CALLS[call](model, given, optimizer)
    before, tensors = world(model, optimizer), alive()
    for _ in range(10):
        CALLS[call](model, given, optimizer)
    assert alive() <= tensors
    assert world(model, optimizer) == before


# Without the type checks of the tests, which draw random numbers themselves.
RANDOM = """
import functools, random, numpy, torch
from torch import nn
from localelastic import *
def state():
    return (random.getstate(), str(numpy.random.get_state()), torch.get_rng_state().tolist(),
            torch.get_default_dtype(), torch.backends.mha.get_fastpath_enabled(),
            torch.is_grad_enabled(), torch.are_deterministic_algorithms_enabled())
class Draws(nn.Module):
    at = -1
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 1)
    def forward(self, inputs):
        noise = random.random() + numpy.random.rand() + torch.rand(()).item()
        Draws.at -= 1
        if Draws.at == 0:
            raise RuntimeError("of the user")
        return self.layer(inputs) * noise
model, points = Draws(), Examples.of(torch.randn(3, 2))
calls = [
    lambda: prediction_change(model, points.take([0]), points),
    lambda: similarity_matrix(model, points, strategy=Replay(0.1)),
    lambda: similarity_matrix(model, points),
    lambda: similarity_matrix(
        model, points, similarity=Relative(), optimizer=functools.partial(torch.optim.Adam, lr=0.1)
    ),
]
for number, call in enumerate(calls):
    for at in (-1, 1, 2, 3):
        Draws.at, before = at, state()
        try:
            first = call()
        except (RuntimeError, ModelError) as error:
            assert at > 0, error
        else:
            assert at < 0
        assert state() == before, (number, at)
        random.random(), numpy.random.rand(), torch.rand(())
print(prediction_change(model, points.take([0]), points).change.tolist() ==
      prediction_change(model, points.take([0]), points).change.tolist())
"""


def test_random_states():
    run = subprocess.run([sys.executable, "-c", RANDOM], capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout.strip() == "True"


def test_the_same_question_twice_has_the_same_answer():
    """Momentum and the weights are back where they were."""
    model = KINDS["dropout in train"].model(3)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    one, two = (
        prediction_change(model, examples().take([0]), examples(), optimizer=optimizer).change
        for _ in range(2)
    )
    assert (one == two).all()
    matrix = functools.partial(similarity_matrix, model, strategy=Replay(), similarity=Relative())
    many = matrix(examples(), loss=functional.cross_entropy, optimizer=optimizer)
    again = matrix(examples(), loss=functional.cross_entropy, optimizer=optimizer)
    assert (many.values == again.values).all()
