"""Figure 2: a real step on real classifiers."""

from __future__ import annotations

import numpy as np
import pytest

from localelastic.experiments.experiment import Request, experiment_named, run_experiment
from localelastic.experiments.experiment_folder import write_experiment
from localelastic.experiments.paper.figure2 import AT, FAR, FAR_RATIO, MOVES, RADIUS, Cell, stepped
from localelastic.report.experiment_record import ExperimentRecord


def test_linear_classifier_moves_as_its_inner_products_say():
    found = stepped(Cell("linear", 1, 50, 0))
    square = RADIUS**2
    expected = (square * np.cos(np.deg2rad(AT - FAR)) + 1) / (square + 1)
    assert found.numbers["signed ratio at x'"] == pytest.approx(expected, abs=1e-9)
    assert found.numbers[FAR_RATIO] == pytest.approx(abs(expected), abs=1e-9)
    np.testing.assert_allclose(found.change, found.first_order, atol=1e-9)
    # The step closes a known share of the gap to the target +1.
    before, moved = found.marked[:, 0]
    assert moved == pytest.approx(MOVES * (1 - before))


def test_network_leaves_the_far_point_nearly_where_it_was():
    found = stepped(Cell("ReLU", 1024, 300, 0))
    assert found.numbers["training accuracy"] > 0.95
    assert found.numbers[FAR_RATIO] < 0.2
    assert found.marked[0, 0] < 0 < found.marked[1, 0]


def test_smoke_run_and_round_trip(tmp_path):
    experiment = experiment_named("figure2")
    record = run_experiment(experiment, Request("smoke", seeds=(0, 1)))
    write_experiment(experiment, record, tmp_path)
    again = ExperimentRecord.read(tmp_path)
    assert again.quantities == record.quantities
    assert len(again.find(FAR_RATIO, "ReLU").values) == 2
    assert {one.name for one in tmp_path.iterdir()} >= {"figure2.png", "figure2.pdf", "report.html"}
