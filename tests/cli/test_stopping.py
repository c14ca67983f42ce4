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
    for number in STOPPERS:
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def endless(here, data):
    """Starts the command on its own, with a training that never ends."""
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str) -> subprocess.Popen[bytes]:
        main = "from localelastic.cli import main; main()"
        words = (data, *TASK, "--network", "two-layer", "--warm-up-epochs", "999999", "--out", name)
        process = subprocess.Popen(
            [sys.executable, "-c", main, "cluster", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "FORCE_COLOR": "1"},  # progress as in a terminal, as it goes on
            preexec_fn=default_signals,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def wait_until_it_trains(process: subprocess.Popen[bytes]) -> None:
    said = b""
    while b"warm-up" not in said:
        more = os.read(process.stderr.fileno(), 4096)
        assert more, said.decode()
        said += more


def test_signals_from_outside(here, data, endless):
    numbers = {"int": signal.SIGINT, "term": signal.SIGTERM}
    runs = {name: endless(name) for name in numbers}
    for name, process in runs.items():
        wait_until_it_trains(process)
        assert list(here.glob(f".{name}-partial-*"))
        process.send_signal(numbers[name])
    outputs = {name: process.communicate(timeout=60) for name, process in runs.items()}
    codes = {name: process.returncode for name, process in runs.items()}
    assert codes == {"int": 130, "term": 143}
    for out, err in outputs.values():
        assert out == b""
        assert b"Stopped; no unfinished results are left." in err
        assert b"Traceback" not in err
    assert contents(here) == {data}
