"""What a run says: each branch of the finding, and the notes a reader needs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from localelastic.experiments import ClusterSpec
from localelastic.experiments.words import finding, question
from localelastic.report.records import Score

SPEC = ClusterSpec("mnist", ("5", "8"), ("3", "9"), clusters=2)
KNOWN = ("5",) * 50 + ("8",) * 50
LABELS = np.repeat([0, 1], 50)


def found(ours: float, rival: float, spec: ClusterSpec = SPEC) -> str:
    scores = [("local elasticity", ours), ("K-means", rival), ("PCA + K-means", rival - 0.01)]
    return finding(spec, KNOWN, LABELS, tuple(Score(n, a, 0.0, 0.0, 0.54) for n, a in scores))


@pytest.mark.parametrize(
    ("ours", "rival", "says"),
    [
        (0.9, 0.7, "the network's own steps tell 5 and 8 apart: 90.0% of 100 examples"),
        (0.7, 0.7, "the network's steps tell no more than the inputs do: 70.0%"),
        (0.6, 0.5, "the network's steps do not tell the classes apart: 60.0%"),  # within noise
        (0.6, 0.9, "the network's steps do not tell the classes apart: 60.0%"),
    ],
)
def test_finding(ours, rival, says):
    told = found(ours, rival)
    assert told.startswith(f"Told only 5 or 8 against 3 or 9, {says}")
    assert told.endswith(f"(K-means on the inputs {rival:.1%}, random labels 54.0%).")


def test_finding_with_more_clusters_than_classes():
    told = found(0.9, 0.7, replace(SPEC, clusters=3))
    assert "90.0% of 100 examples, in 3 clusters for 2 classes, fall in the cluster" in told


def test_finding_without_classes():
    told = finding(replace(SPEC, primary=("odd",), clusters=3), None, LABELS, ())
    assert "the 100 examples of odd into 3 clusters of 50 + 50 + 0" in told
    assert "no accuracy is known" in told


def test_classes_are_listed_as_people_count():
    scores = (Score("local elasticity", 0.9, 0.0, 0.0, 0.3), Score("K-means", 0.5, 0.0, 0.0, 0.3))
    known = ("9", "10", "x") * 30
    told = finding(replace(SPEC, clusters=3), known, np.repeat([0, 1, 2], 30), scores)
    assert "tell 9, 10 and x apart" in told


def test_question():
    assert question(SPEC) == (
        "A network is trained to tell 5 or 8 from 3 or 9 and nothing finer. Do its gradient steps "
        "tell 2 groups apart within 5 or 8?"
    )
