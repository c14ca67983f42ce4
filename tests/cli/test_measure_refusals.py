"""What a function of the user's may return that cannot be measured: said in words, with a way out.

Unlike in ``test_measure_command.py`` the checks before the measurement are the real ones.
"""

from __future__ import annotations

import sys

import pytest

from localelastic.cli import main

SUBJECTS = """
import torch
from torch import nn

X = torch.linspace(-1, 1, 32).view(8, 4)
CLASSES = torch.arange(8) % 3


def ignored():
    return nn.Linear(4, 3), X, torch.cat([CLASSES[:7], torch.tensor([-100])])
"""


@pytest.fixture
def command(here, monkeypatch, capsys):
    """``command("measure own.py:ignored ...")``: exit code and both streams."""
    (here / "own.py").write_text(SUBJECTS)
    path, modules = sys.path[:], set(sys.modules)

    def command(words):
        monkeypatch.setattr(sys, "argv", ["localelastic", *words.split()])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        return code, *capsys.readouterr()

    yield command
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
