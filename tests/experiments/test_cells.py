"""Cells: the same numbers whatever runs them, and computed once."""

from __future__ import annotations

import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import joblib
import pytest
import torch

from localelastic.errors import MeasurementError, OutputError
from localelastic.experiments.cells import Failed, computed
from localelastic.shapes import silent


@dataclass(frozen=True)
class Cell:
    number: int
    log: str


def work(cell):
    """A line per computation, so that computations can be counted."""
    with Path(cell.log).open("a") as file:
        file.write(f"{cell.number}\n")
    if cell.number == 3:
        raise MeasurementError("diverged")
    generator = torch.Generator().manual_seed(cell.number)
    return float(torch.randn(100, 100, generator=generator).sum()), torch.get_num_threads()


def run(cells, *, workers=1, cache=None):
    return computed(work, cells, workers=workers, cache=cache, progress=silent, stage="cells")


def cells(tmp_path, n=5):
    return [Cell(i, str(tmp_path / "log")) for i in range(n)]


def lines(tmp_path):
    return (tmp_path / "log").read_text().split()


def test_in_their_order_and_equal_ones_once(tmp_path):
    some = cells(tmp_path, 3)
    found = run([some[2], some[0], some[2], some[1]])
    assert found[0] == found[2] == run([some[2]])[0]
    assert found[1] == run([some[0]])[0]
    assert lines(tmp_path) == ["2", "0", "1", "2", "0"]


def test_in_a_backend_that_returns_all_at_the_end(tmp_path):
    some = cells(tmp_path)
    with joblib.parallel_config(backend="multiprocessing"):  # Ray's is a kind of it
        assert run(some, workers=2) == run(some)


def test_what_comes_to_nothing_says_why(tmp_path):
    assert run(cells(tmp_path))[3] == Failed("diverged")


def test_on_one_thread_and_threads_are_given_back(tmp_path):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert run(cells(tmp_path, 1))[0][1] == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_finished_ones_are_taken_from_the_folder(tmp_path):
    first = run(cells(tmp_path, 4), cache=tmp_path / "cache")
    again = run(cells(tmp_path, 5), cache=tmp_path / "cache")
    assert again[:4] == first
    assert lines(tmp_path) == ["0", "1", "2", "3", "4"]


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="another folder"):
        run(cells(tmp_path, 1), cache=tmp_path / "file")


TABLE = """
import sys
from pathlib import Path
from localelastic.experiments import Request, experiment_named, run_experiment
request = Request("smoke", (0, 1), cache=Path(sys.argv[1]), workers=int(sys.argv[2]))
record = run_experiment(experiment_named("table7"), request)
print([one.values for one in record.quantities])
"""


def test_killed_in_the_middle_a_table_gives_the_same_numbers(tmp_path):
    def table(cache, workers):
        return [sys.executable, "-c", TABLE, str(tmp_path / cache), str(workers)]

    killed = subprocess.Popen(table("killed", 1))
    deadline = time.monotonic() + 120
    while len(list((tmp_path / "killed").rglob("output.pkl"))) < 3:
        assert time.monotonic() < deadline
        assert killed.poll() is None
        time.sleep(0.05)
    killed.kill()
    killed.wait()
    kept = len(list((tmp_path / "killed").rglob("output.pkl")))
    resumed = subprocess.run(table("killed", 1), capture_output=True, text=True, check=True)
    at_once = subprocess.run(table("whole", 2), capture_output=True, text=True, check=True)
    assert resumed.stdout == at_once.stdout
    assert "(" in resumed.stdout
    assert 3 <= kept < len(list((tmp_path / "killed").rglob("output.pkl")))
