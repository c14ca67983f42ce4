"""Equation (4): exact where it is derived for, not where the readout is trained."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from localelastic.experiments.activation import equation_4, patterns
from localelastic.experiments.experiment import Request, experiment_named, run_experiment
from localelastic.experiments.experiment_folder import write_experiment
from localelastic.experiments.geometry_subject import SCALES, fit
from localelastic.experiments.paper.relative_change import MEAN, OFF, means
from localelastic.experiments.sign_readout import SignReadout, Steps, errors
from localelastic.report.experiment_record import ExperimentRecord


def test_a_step_by_hand_is_equation_4_unless_it_flips_a_unit():
    model = SignReadout(3, width=200, seed=1).double()
    points = torch.randn(6, 3, generator=torch.Generator().manual_seed(0)).double()
    said = equation_4(points.numpy(), patterns(model, points))
    assert {float(sign) for sign in model.signs} == {-1.0, 1.0}
    before = model(points)
    (before[2] - 1).square().div(2).backward()
    with torch.no_grad():
        for weights in model.parameters():
            weights -= 1e-7 * weights.grad
        change = (model(points) - before).numpy()
    np.testing.assert_allclose(change / change[2], said[2], atol=1e-6)


def test_error_falls_with_the_step_and_with_the_width():
    found = {
        width: [errors(Steps(width, (1e-1, 1e-5), True, seed, 8)) for seed in range(3)]
        for width in (64, 4096)
    }
    for seeds in found.values():
        for one in seeds:
            assert one.largest[1] < 0.1 * one.largest[0]
            assert max(one.first_order) < 1e-12
            assert one.hidden_share == 1
    narrow, wide = (np.mean([one.largest[0] for one in seeds]) for seeds in found.values())
    assert wide < narrow / 3


def test_equation_leaves_out_the_gradient_of_a_trained_readout():
    one = errors(Steps(1024, (1e-1, 1e-4), False, 0, 8))
    assert one.largest[1] > 0.1
    assert one.largest[1] == pytest.approx(one.first_order[0], rel=1e-3)
    # Readout: about |x|^2 / 9 / 2 per unit; hidden weights: |x|^2 / (3 h) / 2 per unit.
    assert one.hidden_share == pytest.approx(3 / 1024, rel=0.3)


def test_means_of_the_untrained_linear_twin_are_those_of_its_inner_products():
    fitted = fit("torus", "two-layer-linear", SCALES["quick"], seed=0, stable=False, epochs=0)
    found = means(fitted, "linear")
    with_one = np.c_[fitted.sample.primary.points, np.ones(50)]
    inner = with_one @ with_one.T
    assert found[MEAN] == pytest.approx(np.abs(inner / inner.diagonal()[:, None]).mean(), abs=0.05)
    assert found[OFF] < 0.1
    n, inside = 50, "mean signed ratio, self-pairs in"
    outside = found["mean signed ratio, self-pairs out"]
    assert found[inside] == pytest.approx((outside * (n - 1) + 1) / n)


def test_smoke_run_and_round_trip(tmp_path):
    experiment = experiment_named("relative-change")
    record = run_experiment(experiment, Request("smoke", seeds=(0, 1)))
    write_experiment(experiment, record, tmp_path)
    again = ExperimentRecord.read(tmp_path)
    assert again.quantities == record.quantities
    assert (tmp_path / "relative-change.pdf").exists()
    printed = {one.group: one.published for one in again.quantities if one.published}
    assert printed == {"ReLU, fitted, published step": 0.44, "linear, fitted, published step": 0.68}
    np.testing.assert_allclose(again.series["assumed/said"].diagonal(), 1)
