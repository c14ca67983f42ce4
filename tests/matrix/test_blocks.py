"""Rows that are kept: a killed measurement goes on, with the same numbers, and never with zeros."""

from __future__ import annotations

import copy
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch
from torch import nn

from localelastic import Examples, Gradient, Relative, Replay, Sequential, similarity_matrix
from localelastic.errors import OutputError
from localelastic.trajectory import Frozen
from localelastic.update import Replica

N = 80


def world(dtype=torch.float64):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))
    points = torch.randn(2 * N, 3, dtype=dtype)
    return model.to(dtype), Examples.of(points[:N]), Examples.of(points[N:])


def measured(keep=None, *, trajectory=Frozen(), progress=lambda *_: None, **changed):
    model, primary, auxiliary = world()
    settings = {"strategy": Replay(0.05), **changed}
    return similarity_matrix(
        model, primary, auxiliary, trajectory=trajectory, keep=keep, progress=progress, **settings
    )


class Killed(BaseException):
    pass


def killed_at(step):
    def progress(what, done, total):
        if done == step:
            raise Killed

    return progress


TRAJECTORIES = [Frozen(), Sequential(n_passes=2, seed=3)]


@pytest.mark.parametrize("trajectory", TRAJECTORIES, ids=lambda t: t.name)
@pytest.mark.parametrize("step", [1, 40, N])
def test_goes_on_with_the_same_numbers(trajectory, step, tmp_path):
    whole = measured(trajectory=trajectory)
    with pytest.raises(Killed):
        measured(tmp_path / "rows", trajectory=trajectory, progress=killed_at(step))
    kept = any((tmp_path / "rows").glob("pass-*"))
    assert kept or step == 1
    again = measured(tmp_path / "rows", trajectory=trajectory)
    assert np.array_equal(again.values, whole.values)
    assert np.array_equal(again.below_floor, whole.below_floor)
    assert again.excluded == whole.excluded
    assert ("kept from before" in again.strategy) == kept


def test_finished_rows_are_not_measured_again(tmp_path, monkeypatch):
    measured(tmp_path / "rows")
    steps, step = [], Replica.step
    monkeypatch.setattr(Replica, "step", lambda *given: steps.append(1) or step(*given))
    measured(tmp_path / "rows")
    assert len(steps) == 3  # those of the probe


CHILD = """
import sys, time
sys.path.insert(0, {tests!r})
from test_blocks import measured
measured({keep!r}, progress=lambda *_: time.sleep(0.03))
"""


def test_a_killed_process_leaves_only_whole_blocks(tmp_path):
    keep = tmp_path / "rows"
    code = CHILD.format(tests=str(__file__).rsplit("/", 1)[0], keep=str(keep))
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        deadline = time.monotonic() + 60
        while not list(keep.glob("pass-*.npz")) and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    blocks = list(keep.glob("pass-*.npz"))
    rows = [row for block in blocks for row in np.load(block)["examples"]]
    assert 0 < len(rows) < N
    again = measured(keep)
    assert np.array_equal(again.values, measured().values)
    assert f"{len(rows)} rows kept" in again.strategy


def test_a_block_that_cannot_be_read_is_measured_again(tmp_path):
    whole = measured(tmp_path / "rows")
    for number, path in enumerate(sorted((tmp_path / "rows").glob("pass-*.npz"))):
        content = path.read_bytes()
        path.write_bytes(content[: len(content) // 2] if number else b"")
    again = measured(tmp_path / "rows")
    assert np.array_equal(again.values, whole.values)
    assert "kept from before" not in again.strategy


def test_refused_rows_are_kept_with_their_reason(tmp_path):
    model, primary, _ = world()
    targets = torch.ones(N, dtype=torch.float64)
    targets[[3, 50]] = torch.nan
    primary = Examples.of(primary.inputs, targets=targets)

    def run(keep=None):
        return similarity_matrix(model, primary, strategy=Replay(0.05), keep=keep)

    whole, first, again = run(), run(tmp_path / "rows"), run(tmp_path / "rows")
    assert len(whole.excluded) == 2
    assert first.excluded == again.excluded == whole.excluded
    assert np.array_equal(again.values, whole.values)


def other_weights():
    model, primary, auxiliary = world()
    with torch.no_grad():
        model[0].weight[0, 0] += 1e-9
    return model, primary, auxiliary


def other_inputs():
    model, primary, auxiliary = world()
    moved = primary.inputs.clone()
    moved[-1, -1] += 1e-9
    return model, Examples.of(moved), auxiliary


def adam(parameters):
    return torch.optim.Adam(parameters, lr=0.1)


@pytest.mark.parametrize(
    ("named", "world_", "changed"),
    [
        ("weights", other_weights, {}),
        ("examples", other_inputs, {}),
        ("strategy", world, {"strategy": Replay(0.06)}),
        ("loss", world, {"loss": lambda z, y: (z**2).mean(), "similarity": Relative()}),
        ("trajectory", world, {"trajectory": Sequential()}),
        ("optimizer", world, {"optimizer": adam, "strategy": Replay(), "similarity": Relative()}),
    ],
)
def test_rows_of_another_measurement_are_refused(named, world_, changed, tmp_path):
    measured(tmp_path / "rows")
    model, primary, auxiliary = world_()
    settings = {"strategy": Replay(0.05), **changed}
    with pytest.raises(OutputError, match=f"another.*{named}"):
        similarity_matrix(model, primary, auxiliary, keep=tmp_path / "rows", **settings)


class Scaled(nn.Module):
    """What it does is not all in its weights."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last, self.scale = nn.Linear(3, 6), nn.Linear(6, 3), 1.0
        self.bend = torch.tanh
        self.register_buffer("shift", torch.zeros(3), persistent=False)
        self.double()

    def forward(self, inputs):
        return self.last(self.bend(self.first(inputs))) * self.scale + self.shift**2


def scaled(change=lambda model: None):
    model = Scaled()
    change(model)
    return model


def set_to(name, value):
    return lambda model: setattr(model, name, value)


def froze(name):
    return lambda model: getattr(model, name).requires_grad_(False)


def stepping_on(name):
    return lambda model: {"optimizer": torch.optim.SGD([getattr(model, name).weight], lr=0.1)}


def smoothed(by):
    return lambda model: {"loss": nn.CrossEntropyLoss(label_smoothing=by)}


def watching(place):
    return lambda model: {"prediction": lambda outputs: outputs[:, place]}


ALIKE_BY_NAME = [
    (froze("first"), froze("last"), lambda model: {}),
    (set_to("scale", 1.0), set_to("scale", 3.0), lambda model: {}),
    (set_to("bend", torch.tanh), set_to("bend", torch.relu), lambda model: {}),
    (set_to("shift", torch.zeros(3)), set_to("shift", torch.ones(3).double()), lambda model: {}),
    (None, None, (stepping_on("first"), stepping_on("last"))),
    (None, None, (smoothed(0.0), smoothed(0.3))),
    (None, None, (watching(0), watching(1))),
]


@pytest.mark.parametrize(("first", "then", "settings"), ALIKE_BY_NAME)
def test_what_names_do_not_tell_apart_is_refused_too(first, then, settings, tmp_path):
    generator = torch.Generator().manual_seed(1)
    inputs = torch.randn(12, 3, dtype=torch.float64, generator=generator)
    examples = Examples.of(inputs, targets=torch.arange(12) % 3)

    def run(change, given):
        model = scaled(change or (lambda model: None))
        extra = given(model)
        strategy = Replay() if "optimizer" in extra else Replay(0.1)
        return similarity_matrix(
            model,
            examples,
            similarity=Relative(),
            strategy=strategy,
            keep=tmp_path / "rows",
            **extra,
        )

    before, after = settings if isinstance(settings, tuple) else (settings, settings)
    run(first, before)
    run(first, before)
    with pytest.raises(OutputError, match="another"):
        run(then, after)


def spoiled(block, **changed):
    return {**block, **changed}


SPOILED = [
    lambda block: spoiled(block, change=block["change"] * 2),
    lambda block: spoiled(block, change=block["change"] * np.nan),
    lambda block: spoiled(block, change=block["change"].astype(np.float32)),
    lambda block: spoiled(block, examples=block["examples"] + 20),
    lambda block: spoiled(block, examples=block["examples"].astype(str)),
    lambda block: spoiled(block, unit=block["unit"][:3]),
    lambda block: spoiled(block, reasons=np.arange(len(block["reasons"]))),
]


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_block_whose_content_was_changed_is_measured_again(spoil, tmp_path):
    whole = measured(tmp_path / "rows")
    for path in (tmp_path / "rows").glob("pass-*.npz"):
        with np.load(path) as block:
            values = dict(block)
        np.savez(path, **spoil(values))
    again = measured(tmp_path / "rows")
    assert np.array_equal(again.values, whole.values)
    assert "kept" not in again.strategy


def test_a_block_of_another_measurement_is_measured_again(tmp_path):
    whole = measured(tmp_path / "rows")
    measured(tmp_path / "others", strategy=Replay(0.2))
    for path in (tmp_path / "others").glob("pass-*.npz"):
        (tmp_path / "rows" / path.name).write_bytes(path.read_bytes())
    again = measured(tmp_path / "rows")
    assert np.array_equal(again.values, whole.values)
    assert "kept" not in again.strategy


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(OutputError, match="other files"):
        measured(tmp_path)
    for content in (json.dumps(["not ours"]), "garbled", "[" * 100_000):
        (tmp_path / "manifest.json").write_text(content)
        with pytest.raises(OutputError, match="name another folder"):
            measured(tmp_path)


def test_leftovers_of_a_start_that_was_killed_do_no_harm(tmp_path):
    (tmp_path / ".manifest.json-abcd1234").write_text("{")
    assert np.array_equal(measured(tmp_path).values, measured().values)


@pytest.mark.parametrize("keep", ["a\0b", "~nobody-of-that-name/x"])
def test_a_name_that_no_folder_can_have(keep):
    with pytest.raises(OutputError, match="another folder"):
        measured(keep)


def test_a_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(OutputError, match="another folder"):
        measured(tmp_path / "thesis.tex")


def test_what_takes_no_steps_says_that_nothing_is_kept(tmp_path):
    found = measured(tmp_path / "rows", strategy=Gradient())
    assert "no rows kept" in found.strategy
    assert not (tmp_path / "rows").exists()


def test_the_callers_model_is_untouched(tmp_path):
    model, primary, _ = world()
    before = copy.deepcopy(model.state_dict())
    similarity_matrix(model, primary, strategy=Replay(0.05), keep=tmp_path / "rows")
    assert all(
        torch.equal(a, b) for a, b in zip(before.values(), model.state_dict().values(), strict=True)
    )
