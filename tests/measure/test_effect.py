"""``prediction_change`` equals the bare loop: models, optimizers, losses, predictions."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
import torch
from bare import Bare, as_before, bare_loop, forward, world
from torch import Tensor, nn, optim
from torch.nn import functional
from zoo import KINDS

from localelastic import (
    CrossEntropy,
    Examples,
    Logits,
    LogProbability,
    OneClass,
    Probability,
    Scalar,
    SquaredLoss,
    prediction_change,
)

CLASSES = 3


# Optimizers: of a model, with or without a past.


class Heavy(optim.Optimizer):
    """An optimizer of the user's own, that keeps settings and state as attributes."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
        self.drag, self.steps = 0.5, 0

    @torch.no_grad()
    def step(self, closure=None):
        with torch.enable_grad():
            value = None if closure is None else closure()
        self.steps += 1
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    past = self.state[p].setdefault("past", torch.zeros_like(p))
                    past.mul_(self.drag).add_(p.grad.to_dense())
                    p.sub_(past, alpha=group["lr"] / self.steps)
        return value


def two_groups(parameters):
    first, *rest = parameters
    return optim.SGD(
        [{"params": [first], "lr": 0.2, "momentum": 0.5}, {"params": rest}], lr=0.05, nesterov=False
    )


@dataclass(frozen=True)
class Walker:
    """An optimizer, and how many steps it has gone before."""

    make: Callable[[list[Tensor]], optim.Optimizer]
    steps: int = 0
    sparse: bool = False
    """Whether it takes sparse gradients."""

    def of(self, model: nn.Module, inputs: Any) -> optim.Optimizer:
        made = self.make([p for p in model.parameters() if p.requires_grad])
        for _ in range(self.steps):

            def closure() -> Tensor:
                made.zero_grad()
                with as_before(model):
                    value = forward(model, inputs).square().mean()
                    value.backward()
                return value

            with torch.random.fork_rng():
                made.step(closure)
        return made


def _sgd(**more: Any) -> Callable[..., optim.Optimizer]:
    return functools.partial(optim.SGD, lr=0.1, **more)


WALKERS = {
    "SGD": Walker(_sgd(), sparse=True),
    "SGD with momentum, fresh": Walker(_sgd(momentum=0.9), sparse=True),
    "SGD with momentum, warm": Walker(_sgd(momentum=0.9), 3, True),
    "Nesterov with decay, warm": Walker(_sgd(momentum=0.9, nesterov=True, weight_decay=0.1), 2),
    "two groups": Walker(two_groups, 1),
    "AdamW, fresh": Walker(functools.partial(optim.AdamW, lr=0.01)),
    "AdamW, warm": Walker(functools.partial(optim.AdamW, lr=0.01, weight_decay=0.1), 3),
    "Adam, amsgrad, one tensor at a time": Walker(
        functools.partial(optim.Adam, lr=0.01, amsgrad=True, foreach=False), 2
    ),
    "RMSprop": Walker(functools.partial(optim.RMSprop, lr=0.01, momentum=0.3), 2),
    "Adagrad": Walker(functools.partial(optim.Adagrad, lr=0.05), 1, True),
    "NAdam": Walker(functools.partial(optim.NAdam, lr=0.01), 2),
    "LBFGS": Walker(functools.partial(optim.LBFGS, lr=0.1, max_iter=3), 1),
    "of my own": Walker(functools.partial(Heavy, lr=0.1), 2, True),
}

# Tasks: outputs, loss and targets.


def _classes(n: int, seed: int) -> Tensor:
    return torch.randint(0, CLASSES, (n,), generator=torch.Generator().manual_seed(seed + 50))


def _numbers(*shape: int) -> Callable[[int, int], Tensor]:
    return lambda n, seed: torch.randn(
        n, *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + 50)
    )


def _bits(n: int, seed: int) -> Tensor:
    return (_numbers()(n, seed) > 0).double()


def hinge(output: Tensor, target: Tensor) -> Tensor:
    return (1 + output - output.gather(1, target[:, None])).relu().square().sum(1)


@dataclass(frozen=True)
class Task:
    """What is gone down; ``bare`` is the same for the bare loop where the name differs."""

    loss: Any
    targets: Callable[[int, int], Tensor]
    out: int = CLASSES
    bare: Callable[[Tensor, Any], Tensor] | None = None


WEIGHTS = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
TASKS = {
    "cross-entropy": Task(functional.cross_entropy, _classes),
    "cross-entropy by default": Task(None, _classes, bare=functional.cross_entropy),
    "cross-entropy, summed": Task(nn.CrossEntropyLoss(reduction="sum"), _classes),
    "cross-entropy, each": Task(
        nn.CrossEntropyLoss(reduction="none"), _classes, bare=nn.CrossEntropyLoss()
    ),
    "cross-entropy, weighted and smoothed": Task(
        nn.CrossEntropyLoss(WEIGHTS, label_smoothing=0.1), _classes
    ),
    "squares of vectors": Task(functional.mse_loss, _numbers(CLASSES)),
    "soft labels": Task(lambda z, y: -(y.softmax(1) * z.log_softmax(1)).sum(1), _numbers(CLASSES)),
    "my own": Task(hinge, _classes, bare=lambda z, y: hinge(z, y).mean()),
    "squares": Task(functional.mse_loss, _numbers(), 1),
    "squares by default": Task(None, _numbers(), 1, lambda z, y: ((z - y) ** 2).mean() / 2),
    "half squares": Task(SquaredLoss(), _numbers(), 1, lambda z, y: ((z - y) ** 2).mean() / 2),
    "binary": Task(nn.BCEWithLogitsLoss(), _bits, 1),
    "binary of ours": Task(CrossEntropy(), _bits, 1, functional.binary_cross_entropy_with_logits),
    "power of four": Task(lambda z, y: (z - y).pow(4).sum(), _numbers(), 1),
}
TASKS["soft labels"] = replace(
    TASKS["soft labels"], bare=lambda z, y: TASKS["soft labels"].loss(z, y).mean()
)

# Predictions, with their definition.


def of_my_own(output: Tensor) -> Tensor:
    return torch.sin(output).reshape(len(output), -1).sum(1)


def vector_of_my_own(output: Tensor) -> Tensor:
    flat = output.reshape(len(output), -1)
    return torch.cat([flat.square(), flat.exp()], 1)


@dataclass(frozen=True)
class Watching:
    prediction: Any
    bare: Callable[[Tensor, Any], Tensor]
    outs: tuple[int, ...] = (1, CLASSES)
    kl: tuple[int, ...] = (CLASSES,)
    """Numbers of outputs for which there are class probabilities."""
    labels: bool = False


WATCHED = {
    "scalar": Watching(Scalar(), lambda z, y: z, (1,)),
    "probability": Watching(
        Probability(), lambda z, y: z.sigmoid() if z.ndim == 1 else z.softmax(1), kl=(1, CLASSES)
    ),
    "logits": Watching(Logits(), lambda z, y: z),
    "log-probability": Watching(
        LogProbability(),
        lambda z, y: z.log_softmax(1).gather(1, y[:, None])[:, 0],
        (CLASSES,),
        labels=True,
    ),
    "one class": Watching(OneClass(1), lambda z, y: z[:, 1], (CLASSES,)),
    "my own": Watching(of_my_own, lambda z, y: of_my_own(z), kl=()),
    "vector of my own": Watching(vector_of_my_own, lambda z, y: vector_of_my_own(z), kl=()),
}


@dataclass(frozen=True)
class Row:
    """One combination."""

    kind: str = "two layers"
    walker: str = "SGD"
    task: str = "cross-entropy"
    watching: str = "log-probability"
    batch: int = 1

    @property
    def possible(self) -> bool:
        task, watching = TASKS[self.task], WATCHED[self.watching]
        whole = not task.targets(1, 0).is_floating_point()
        dense = self.kind != "sparse table" or WALKERS[self.walker].sparse
        return task.out in watching.outs and (whole or not watching.labels) and dense

    def __str__(self) -> str:
        default = Row()
        parts = [v for k, v in vars(self).items() if v != getattr(default, k) and k != "batch"]
        return f"{', '.join(parts) or 'default'}, {self.batch} at once"


def _alone() -> list[Row]:
    """Each value once with every other factor's default, stepping on one and on two."""
    rows = [Row(batch=batch) for batch in (1, 2)]
    rows += [Row(kind=name, batch=1 + i % 2) for i, name in enumerate(KINDS)]
    rows += [Row(walker=name, batch=1 + i % 2) for i, name in enumerate(WALKERS)]
    for i, name in enumerate(TASKS):
        watching = "scalar" if TASKS[name].out == 1 else "logits"
        rows.append(Row(task=name, watching=watching, batch=2 - i % 2))
    for name in WATCHED:
        rows += [Row(watching=name), Row(task="binary", watching=name, batch=2)]
    return rows


def _mixed(count: int) -> list[Row]:
    """Combinations drawn at random."""
    draw = random.Random(0)
    tables = [KINDS, WALKERS, TASKS, WATCHED]
    rows: list[Row] = []
    while len(rows) < count:
        row = Row(*(draw.choice(list(table)) for table in tables), draw.choice([1, 2]))
        rows += [row] if row.possible else []
    return rows


ROWS = list(dict.fromkeys(row for row in (*_alone(), *_mixed(15)) if row.possible))


@dataclass
class World:
    """Everything of one row, made."""

    model: nn.Module
    optimizer: optim.Optimizer
    step_on: Examples
    probes: Examples
    bare: Bare


def made(row: Row) -> World:
    kind, task, watching = KINDS[row.kind], TASKS[row.task], WATCHED[row.watching]
    twins = []
    for _ in range(2):  # not copied: that is what is tested
        model = kind.model(task.out)
        twins.append((model, WALKERS[row.walker].of(model, kind.inputs(4, 9))))
    step_on = kind.inputs(row.batch, 1), task.targets(row.batch, 1)
    probes = kind.inputs(4, 2), task.targets(4, 2)
    expected = bare_loop(*twins[1], step_on, probes, task.bare or task.loss, watching.bare)
    return World(
        *twins[0],
        *(Examples.of(x, targets=y) for x, y in (step_on, probes)),
        expected,
    )


def close(found: Any, expected: np.ndarray, rtol: float = 1e-9) -> None:
    assert found.shape == expected.shape
    scale = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * scale + 1e-14)


# The user's own hook on a first layer: PyTorch says that it fires.
@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_equals_the_bare_loop(row):
    this, watching = made(row), WATCHED[row.watching]
    before = world(this.model, this.optimizer)
    found = prediction_change(
        this.model,
        this.step_on,
        this.probes,
        loss=TASKS[row.task].loss,
        optimizer=this.optimizer,
        prediction=watching.prediction,
    )
    assert world(this.model, this.optimizer) == before
    assert 1e-7 < np.abs(this.bare.change).max() < 1e3
    close(found.change, this.bare.change)
    close(found.self_change, this.bare.self_change)
    if TASKS[row.task].out in watching.kl:
        # Its terms cancel in the definition: to 1e-16 absolute.
        np.testing.assert_allclose(found.kl, this.bare.kl, rtol=1e-6, atol=1e-14)
        assert (found.kl > 0).any()
    else:
        assert found.kl is None
    single = row.kind == "two precisions"
    close(found.first_order, this.bare.first_order, 1e-5 if single else 1e-9)
    if not single:
        close(found.first_order, this.bare.finite, 1e-5)
    assert found.moved_share == pytest.approx(this.bare.moved_share, abs=1e-12)
    assert found.loss == pytest.approx(this.bare.loss, rel=1e-12)
    assert (found.size > found.noise_floor).any() or row.kind in (
        "dropout in train",
        "two precisions",
    )
