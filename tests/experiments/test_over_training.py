"""Similarities along training: the stops are those of one training, and what is made of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from localelastic.data import RandomSampling, load_mnist, primary_vs_auxiliary
from localelastic.errors import MeasurementError
from localelastic.experiments.along_training import (
    Run,
    along_torus,
    checkpoints,
    trained_along,
    within_and_between,
)
from localelastic.experiments.experiment import Request, experiment_named, run_experiment
from localelastic.experiments.experiment_folder import write_experiment
from localelastic.experiments.geometry_subject import LOSS, GeometryScale, fit
from localelastic.models import WarmUp, build_network, code, warm_up
from localelastic.report.experiment_record import ExperimentRecord


@pytest.mark.parametrize(("network", "momentum"), [("two-layer", 0.0), ("cnn", 0.9)])
def test_stopping_to_look_changes_nothing(network, momentum):
    task = primary_vs_auxiliary(
        load_mnist(), primary=[5, 8], auxiliary=[3, 9], n_primary=6, n_auxiliary=6,
        sampling=RandomSampling(0),
    )  # fmt: skip
    coded = code(task.primary, task.auxiliary, LOSS)
    width = {"two-layer": 64, "cnn": 8}[network]
    stopped, straight = (build_network(network, (1, 28, 28), width=width, seed=1) for _ in "ab")
    seen = []
    for step in trained_along(
        stopped, coded.inputs.float(), coded.targets.float(), lr=0.02, momentum=momentum,
        batch_size=5, stops=(0, 1, 4, 9), seed=3,
    ):  # fmt: skip
        seen.append((step, stopped.readout.weight.detach().clone()))
    assert [step for step, _ in seen] == [0, 1, 4, 9]
    assert not torch.equal(seen[0][1], seen[1][1])
    # Three batches of 5, 5 and 2 an epoch: nine steps are three epochs of the plain warm-up.
    settings = WarmUp(3, 0.02, momentum, 5)
    warm_up(straight, task.primary, task.auxiliary, loss=LOSS, settings=settings, seed=3)
    for ours, theirs in zip(stopped.parameters(), straight.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)


def test_last_stop_on_the_torus_is_the_fit_of_figure_1():
    run = Run("two-layer", 1 / 640, 12, 4, False, 2)
    found = along_torus(run)
    fitted = fit("torus", "two-layer", GeometryScale(run.width, 12), seed=2, stable=True)
    assert found["mean"][-1] == pytest.approx(np.abs(fitted.signed()).mean(), rel=1e-4)
    assert found["step"] == [0, 1, 3, 12]


def test_diverged_training_is_said():
    x, y = torch.tensor([[3.0], [-2.0]]), torch.tensor([1.0, -1.0])
    model = build_network("two-layer-linear", (1,), width=8, seed=0)
    with pytest.raises(MeasurementError, match="training diverged at step"):
        list(trained_along(model, x, y, lr=1e3, momentum=0.0, batch_size=2, stops=(500,), seed=0))


def test_checkpoints_and_pairs():
    assert checkpoints(1000, 5) == (0, 1, 10, 100, 1000)
    assert checkpoints(3, 10) == (0, 1, 2, 3)
    values = np.array([[9.0, 1, 2, 3], [1, 9, 4, 5], [2, 4, 9, 6], [3, 5, 6, 9]])
    assert within_and_between(values, ["a", "a", "b", "b"]) == (3.5, 3.5)
    assert within_and_between(values, ["a", "b", "b", "b"]) == (5.0, 2.0)


def test_smoke_run_and_round_trip(tmp_path):
    experiment = experiment_named("over-training")
    record = run_experiment(experiment, Request("smoke", seeds=(0,)))
    write_experiment(experiment, record, tmp_path)
    again = ExperimentRecord.read(tmp_path)
    assert again.quantities == record.quantities
    assert (tmp_path / "over-training.png").exists()
    chance = again.find("accuracy of random labels, at the end", "digits, CNN").interval.mean
    assert 0.5 < chance < 0.75
    over = again.series["digits, two-layer ReLU, published step/step size over limit"]
    stable = again.series["digits, two-layer ReLU, stable step/step size over limit"]
    assert over[0, 0] > 5
    assert stable[0, 0] == pytest.approx(0.25, rel=0.05)
