"""The real command, called in this process, in an empty folder."""

from __future__ import annotations

import errno
import io
import os
import sys
from dataclasses import dataclass
from pathlib import Path

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


@pytest.fixture
def disk_full_at(monkeypatch):
    """``disk_full_at("labels.csv")``: the disk is full when a file of that name is opened."""
    unchanged = io.open

    def fill(name: str) -> None:
        def opened(file, mode="r", *rest, **options):
            if Path(str(file)).name == name and mode != "r":
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(file))
            return unchanged(file, mode, *rest, **options)

        monkeypatch.setattr(io, "open", opened)

    return fill
