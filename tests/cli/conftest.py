"""The real command, called in this process, in an empty folder."""

from __future__ import annotations

import errno
import io
import os
import sys
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from blobs import save_npz
from threadpoolctl import threadpool_limits

from localelastic.cli import main


class Ran(NamedTuple):
    code: int | str | None
    out: str
    err: str


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


@pytest.fixture
def call(here, monkeypatch, capsys):
    """``call("list")``: exit code and both streams of ``localelastic list``."""

    def call(*words: object) -> Ran:
        monkeypatch.setattr(sys, "argv", ["localelastic", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        return Ran(code, *capsys.readouterr())

    return call


@pytest.fixture
def run(call):
    """``run("mnist", ...)``: of ``localelastic cluster mnist ...``."""
    return partial(call, "cluster")


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


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """On data this small several threads only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with threadpool_limits(1):
        yield
    torch.set_num_threads(before)
