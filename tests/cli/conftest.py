"""The real command, called in this process, in an empty folder."""

from __future__ import annotations

import sys
from dataclasses import dataclass

import pytest
from blobs import save_npz

from localelastic.cli import main


@dataclass(frozen=True)
class Ran:
    code: int | str | None
    out: str
    err: str


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


@pytest.fixture
def run(here, monkeypatch, capsys):
    """``run("mnist", ...)``: exit code and both streams of ``localelastic cluster mnist ...``."""

    def run(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["localelastic", "cluster", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        return Ran(code, *capsys.readouterr())

    return run


@pytest.fixture
def data(here):
    """``blobs.npz``, 12 examples of each of the classes a, b and c."""
    return save_npz(here / "blobs.npz")
