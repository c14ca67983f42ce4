"""Figures 1 and 4: all sets or some, and what is said of them."""

from __future__ import annotations

import pytest

from localelastic.experiments import Request, experiment_named, run_experiment


@pytest.mark.parametrize(
    ("figure", "only", "sets"),
    [
        ("figure1", "", "torus and folded boxes"),
        ("figure1", "TORUS", "torus"),
        ("figure4", "cycles", "cycles"),
    ],
)
def test_sets(figure, only, sets):
    experiment = experiment_named(figure)
    record = run_experiment(experiment, Request("smoke", (0, 1), only=only))
    assert record.finding.startswith(f"On {sets} the change falls")
    names = dict.fromkeys(name.partition(",")[0].replace("-", " ") for name in record.groups())
    assert " and ".join(names) == sets
    for name, group in record.groups().items():
        if "ReLU" in name:
            (pearson,) = (one for one in group if one.name == "Pearson, unsigned")
            assert pearson.interval.mean < -0.6
    (picture,) = experiment.draw(record)
    assert len(picture.png) > 10_000
