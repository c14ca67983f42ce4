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
from localelastic.errors import OutputError, SettingError
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
    monkeypatch.setattr(Replica, "step", None)
    assert len(measured(tmp_path / "rows").ids) == N


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
    with pytest.raises(SettingError, match=f"another.*{named}"):
        similarity_matrix(model, primary, auxiliary, keep=tmp_path / "rows", **settings)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("precious")
    with pytest.raises(SettingError, match="other files"):
        measured(tmp_path)
    (tmp_path / "manifest.json").write_text(json.dumps(["not ours"]))
    with pytest.raises(SettingError, match="another"):
        measured(tmp_path)
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
