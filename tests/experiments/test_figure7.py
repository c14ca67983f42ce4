"""Figure 7: patterns against the closed form, and what the record says of itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from localelastic.analysis import activation_cosine
from localelastic.errors import DataError, ModelError
from localelastic.experiments.activation import (
    cosine_of_wide,
    equation_4,
    normal_patterns,
    patterns,
)
from localelastic.experiments.experiment import Request, experiment_named, run_experiment
from localelastic.experiments.experiment_folder import write_experiment
from localelastic.models import CNN, TwoLayer
from localelastic.report.experiment_record import ExperimentRecord

POINTS = np.random.default_rng(0).normal(size=(12, 3)) * 4


def test_untrained_patterns_tend_to_the_arc_cosine_kernel_like_one_over_the_root_of_the_width():
    wide = cosine_of_wide(POINTS)
    errors = [
        np.mean(
            [
                np.abs(activation_cosine(normal_patterns(POINTS, width=w, seed=s)) - wide).max()
                for s in range(5)
            ]
        )
        for w in (400, 6400, 102400)
    ]
    assert errors[-1] < 0.01
    for wider, narrower in zip(errors[1:], errors, strict=False):
        assert 2.5 < narrower / wider < 6.5  # the root of 16 is 4


def test_closed_form_at_angles_known_by_hand():
    # (x, 1): (1, 1), (-1, 1) at 90 degrees; (0, 1) at 45 degrees from both.
    found = cosine_of_wide(np.array([[1.0], [-1.0], [0.0]]))
    np.testing.assert_allclose(found, [[1, 0.5, 0.75], [0.5, 1, 0.75], [0.75, 0.75, 1]])


def test_patterns_are_the_units_that_see_more_than_zero():
    model = TwoLayer((1,), width=3)
    with torch.no_grad():
        model.hidden.weight.copy_(torch.tensor([[1.0], [-1.0], [0.0]]))
        model.hidden.bias.copy_(torch.tensor([0.0, 0.5, -1.0]))
    found = patterns(model, torch.tensor([[1.0], [0.25], [-2.0]]))
    assert found.tolist() == [[1, 0, 0], [1, 1, 0], [0, 1, 0]]
    with pytest.raises(ModelError, match="expected a network with one dense hidden layer"):
        patterns(CNN((1, 28, 28)), torch.zeros(1, 1, 28, 28))


def test_equation_4_by_hand_and_where_it_has_no_meaning():
    points, active = np.array([[1.0, 0.0], [-3.0, 2.0]]), np.array([[1.0, 1, 1], [1, 0, 0]])
    # x x' + 1 = -2; |x|^2 + 1 = 2 and 14; one unit on at both.
    np.testing.assert_allclose(equation_4(points, active), [[1, -2 / 6], [-2 / 14, 1]])
    with pytest.raises(DataError, match="expected a unit on at every example"):
        equation_4(points, np.array([[1.0], [0.0]]))


def test_smoke_run_and_round_trip(tmp_path):
    experiment = experiment_named("figure7")
    record = run_experiment(experiment, Request("smoke", seeds=(0, 1)))
    write_experiment(experiment, record, tmp_path)
    names = {one.name for one in tmp_path.iterdir()}
    assert names >= {"report.html", "figure7.png", "figure7.pdf"}
    again = ExperimentRecord.read(tmp_path)
    assert again.quantities == record.quantities
    assert again.series.keys() == record.series.keys()
    assert [one.published for one in again.quantities if one.published] == pytest.approx(
        [-0.97, -0.97, -0.99, -0.48]
    )
    # Untrained, the linear twin has the ReLU network's weights, so the same patterns.
    np.testing.assert_array_equal(
        record.series["ReLU/untrained/cosine"], record.series["linear/untrained/cosine"]
    )
    # No sigmoid network of small steps moves backwards so far as a linear one.
    assert record.series["linear/untrained/signed"].min() < -0.5
    assert record.series["sigmoid/untrained/signed"].min() > 0
