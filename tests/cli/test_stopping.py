"""Stopped in the middle of the work: nothing that looks finished, and no rubbish either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from blobs import QUICK, TASK, contents

from localelastic.cli import cluster as command
from localelastic.cli.stopping import stoppable

STOPPERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture
def heeded(number):
    """The signal is not ignored, as it is where the tests run in the background or under nohup."""
    before = signal.signal(number, lambda *_: None)
    yield
    signal.signal(number, before)


@pytest.mark.usefixtures("heeded")
@pytest.mark.parametrize("number", STOPPERS)
@pytest.mark.parametrize("moment", ["prepare", "run_cluster", "write_run"])
def test_a_signal_at_any_stage(run, here, data, monkeypatch, number, moment):
    unchanged = getattr(command, moment)

    def stopped(*rest):
        result = unchanged(*rest)
        signal.raise_signal(number)
        return result

    monkeypatch.setattr(command, moment, stopped)
    ran = run(data, *TASK, *QUICK, "--out", "new/o")
    assert ran.code == 128 + number
    assert ran.err.endswith("Stopped; no unfinished results are left.\n")
    assert ran.out == ""
    assert contents(here) == {data}


def test_handlers_are_given_back_and_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    ours = signal.getsignal(signal.SIGTERM)
    try:
        with stoppable():
            signal.raise_signal(signal.SIGHUP)
            assert signal.getsignal(signal.SIGTERM) is not ours
        assert signal.getsignal(signal.SIGTERM) is ours
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def default_signals() -> None:
    """As in a terminal: a shell that runs the tests in the background makes SIGINT ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def endless(here, data):
    """The command on its own, in a training that never ends."""
    main = "from localelastic.cli import main; main()"
    words = (data, *TASK, "--network", "two-layer", "--warm-up-epochs", "999999", "--out", "o")
    process = subprocess.Popen(
        [sys.executable, "-c", main, "cluster", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "FORCE_COLOR": "1"},  # progress as in a terminal, as it goes on
        preexec_fn=default_signals,
    )
    yield process
    process.kill()
    process.communicate()


def wait_until_it_trains(process: subprocess.Popen[bytes]) -> None:
    said = b""
    while b"warm-up" not in said:
        more = os.read(process.stderr.fileno(), 4096)
        assert more, said.decode()
        said += more


def test_ctrl_c_from_outside(here, data, endless):
    wait_until_it_trains(endless)
    assert len(list(here.glob(".o-partial-*"))) == 1
    endless.send_signal(signal.SIGINT)
    out, err = endless.communicate(timeout=60)
    assert endless.returncode == 130
    assert out == b""
    assert err.endswith(b"Stopped; no unfinished results are left.\n")
    assert b"Traceback" not in err
    assert contents(here) == {data}
