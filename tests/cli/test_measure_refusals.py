"""What a function of the user's may return that cannot be measured: said in words, with a way out.

Unlike in ``test_measure_command.py`` the checks before the measurement are the real ones.
"""

from __future__ import annotations

import json
import sys

import pytest

SUBJECTS = """
import torch
from torch import nn

X = torch.linspace(-1, 1, 32).view(8, 4)
CLASSES = torch.arange(8) % 3


def ignored():
    return nn.Linear(4, 3), X, torch.cat([CLASSES[:7], torch.tensor([-100])])


def too_wide():
    return nn.Linear(4, 1), torch.ones(8, 5)


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 1)

    def forward(self, x):
        return self.layer(x)  # line of the user's


def own_too_wide():
    return Own(), torch.ones(8, 5)


def whole():
    return nn.Linear(4, 1), torch.ones(8, 4, dtype=torch.long)


def texts():
    return nn.Linear(4, 1), list("abcdefgh")


def bad_prediction():
    return {"model": Own(), "inputs": X, "prediction": lambda output: output.flatten(7)}


def twice():
    return {"model": Own(), "inputs": X, "examples": X + 1}


def plain():
    return Own(), X
"""
LINE = next(k for k, line in enumerate(SUBJECTS.splitlines(), 1) if "line of the user's" in line)


@pytest.fixture
def command(call, here):
    """``command("measure own.py:ignored ...")``: exit code and both streams."""
    (here / "own.py").write_text(SUBJECTS)
    path, modules = sys.path[:], set(sys.modules)
    yield lambda words: call(*words.split())
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        if name == "localelastic_user_own":
            del sys.modules[name]


@pytest.mark.parametrize("word", ["check", "measure"])
def test_an_ignored_class(command, here, word):
    code, out, err = command(f"{word} own.py:ignored")
    assert code == 2, err
    assert out == ""
    assert "Traceback" not in err
    assert "got -100 (ignored) at 1 of 8 examples" in " ".join(err.split())
    assert not (here / "runs").exists()


def test_an_ignored_class_that_is_left_out_does_not_matter(command):
    code, _, err = command("measure own.py:ignored --probes 0 1 2 --out run --quiet")
    assert code == 0, err


@pytest.mark.parametrize("word", ["check", "measure"])
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("too_wide", "own.py:too_wide: the model failed on inputs of (1, 5) float32: RuntimeError"),
        ("own_too_wide", f"own.py:own_too_wide (own.py, line {LINE}): the model failed on inputs"),
        ("whole", "(1, 4) int64: RuntimeError|inputs.float() makes"),
        ("texts", "on inputs of texts, 1 of them: TypeError"),
    ],
)
def test_inputs_that_the_model_does_not_take(command, word, name, said):
    code, out, err = command(f"{word} own.py:{name}")
    assert code == 2, err
    assert out == ""
    for part in said.split("|"):
        assert part in " ".join(err.split())
    assert "linear.py" not in err
    assert "of the shape and kind that it takes" in " ".join(err.split())


def test_a_function_that_fails_is_told_with_the_users_line_and_not_with_torchs(command):
    code, _, err = command("measure own.py:bad_prediction")
    line = next(k for k, line in enumerate(SUBJECTS.splitlines(), 1) if "flatten(7)" in line)
    assert code == 2, err
    assert f"beside it, failed (own.py, line {line}): IndexError" in " ".join(err.split())


@pytest.mark.parametrize("word", ["check", "measure"])
def test_inputs_and_examples_at_once(command, word):
    code, out, err = command(f"{word} own.py:twice")
    assert code == 2, err
    assert out == ""
    assert "'examples' or 'inputs', got both; leave one out" in " ".join(err.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--step-on 0 --probes 0", "the only probe is an example stepped on"),
        ("--step-on 0 1 2 --probes 2 1", "all probes are examples stepped on"),
        ("--step-on 0 --probes 0 1", None),
        ("--step-on 0", None),
    ],
)
def test_probes_that_are_all_stepped_on(command, here, words, said):
    code, out, err = command(f"measure own.py:plain {words} --out run")
    assert code == 0, err
    shown = " ".join((out + err).split())
    page = (here / "run" / "report.html").read_text(encoding="utf-8")
    notes = " ".join(json.loads((here / "run" / "measure.json").read_text())["notes"])
    for place in (shown, page, notes):
        assert ("stepped on: this says nothing of other" in place) is (said is not None)
        assert said is None or said in place
