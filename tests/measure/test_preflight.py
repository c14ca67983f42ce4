"""The preflight says in words what makes a model's numbers doubtful."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from localelastic import Examples, ModelError, SettingError, preflight
from worlds import fingerprint, points


def classes(n: int = 6) -> Examples:
    return Examples.of(points(n, (6,)).float(), targets=torch.arange(n) % 3)


def mlp(*between: nn.Module) -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 4), *between, nn.Tanh(), nn.Linear(4, 3))


class Counts(nn.Module):
    """Uses how often it was called."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.calls = nn.Linear(6, 3), 0

    def forward(self, inputs: Tensor) -> Tensor:
        self.calls += 1
        return self.layer(inputs) * (1 + 0.1 * self.calls)


class Remembers(nn.Module):
    """Writes a buffer that it does not read."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, inputs: Tensor) -> Tensor:
        self.seen += len(inputs)
        return self.layer(inputs)


class Mixes(nn.Module):
    """An example's output holds part of the others'."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        return self.layer(inputs - inputs.mean(0) / 2)


class BatchGradient(nn.Module):
    """Right outputs, yet a gradient that grows with the batch."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(6, 3)

    def forward(self, inputs: Tensor) -> Tensor:
        output = self.layer(inputs)
        return output.detach() + len(inputs) * (output - output.detach())


def hooked() -> nn.Module:
    model = mlp()
    model[2].register_forward_hook(lambda *_: None)
    return model


def tied() -> nn.Module:
    model = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 6))
    model[2].weight = model[0].weight
    return model


@pytest.mark.parametrize(
    ("model", "level", "check", "words"),
    [
        (mlp(), "ok", "deterministic", "bit for bit"),
        (mlp(), "ok", "buffers", "writes none"),
        (mlp(), "ok", "train mode", "no layer behaves differently"),
        (mlp(), "ok", "gradients", "the same alone and in a batch"),
        (mlp(), "ok", "output", "watching log-probability, stepping down the cross entropy loss"),
        (mlp(), "ok", "weights", "43 of 43 weights"),
        (mlp(), "ok", "one step", "SGD with lr=0.01"),
        (mlp(nn.Dropout()), "note", "train mode", "Dropout '1' drops out: the same mask"),
        (mlp(nn.Dropout()), "note", "deterministic", "draws random numbers"),
        (Counts(), "warning", "deterministic", "a state of its own"),
        (Remembers(), "note", "buffers", "writes seen"),
        (Mixes(), "warning", "batching", "depend on who else"),
        (BatchGradient(), "warning", "gradients", "not the mean of single steps"),
        (hooked(), "note", "hooks", "Linear '2' carries hooks"),
        (tied(), "ok", "weights", "1 shared, counted once"),
        (mlp().bfloat16(), "warning", "precision", "half precision"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " not in value else None,
)
def test_findings(model, level, check, words):
    found = preflight(model, classes())
    assert [f for f in found.findings if f.level == level and f.check == check and words in f.found]
    assert words in str(found)
    assert bool(found.warnings) is (level == "warning")


def test_the_caller_keeps_model_and_random_state():
    model, state = mlp(nn.Dropout()), torch.get_rng_state()
    before = fingerprint(model)
    preflight(model, classes())
    assert fingerprint(model) == before
    assert torch.equal(torch.get_rng_state(), state)


def test_batch_statistics_are_refused_or_warned_of():
    model = mlp(nn.BatchNorm1d(4))
    with pytest.raises(ModelError, match=r"BatchNorm1d '1'.*mode='eval'.*mode='train'"):
        preflight(model, classes())
    assert not preflight(model, classes(), mode="eval").warnings
    told = preflight(nn.Sequential(nn.BatchNorm1d(6), nn.Linear(6, 3)).eval(), classes())
    assert not told.warnings


def test_a_single_step_through_batch_statistics_says_the_way_out():
    with pytest.raises(ModelError, match=r"more than one example.*mode='eval'"):
        preflight(mlp(nn.BatchNorm1d(4)), classes(), mode="train")


def test_optimizer_and_cost_are_told():
    found = str(preflight(mlp(), classes(), optimizer=partial(torch.optim.AdamW, lr=1e-3)))
    assert "AdamW with lr=0.001" in found
    assert "for a step with 6 probes" in found
    assert "replay (real steps: the optimizer is AdamW)" in found


@pytest.mark.parametrize(
    ("step_on", "said"),
    [
        (["zz"], "ids of the 6 examples, got 'zz'; they are such as '0'"),
        (["0", "6"], "got '6'"),
        ("0", r"a list of ids, such as \['0'\], got '0'"),
        ([], r"a list of ids, such as \['0'\], got \[\]"),
    ],
)
def test_ids_that_do_not_exist(step_on, said):
    with pytest.raises(SettingError, match=said):
        preflight(mlp(), classes(), step_on=step_on)


def test_the_step_that_is_tried_is_that_of_the_examples_asked_for():
    examples = Examples.of(points(6, (6,)).float(), targets=[0.0, 0.0, 0.0, 0.0, 0.0, float("nan")])
    model = nn.Linear(6, 1)
    assert not preflight(model, examples, step_on=["0", "1"]).warnings
    assert "not finite" in preflight(model, examples, step_on=["5"]).warnings[0].found
