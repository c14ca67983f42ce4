from dataclasses import replace

import numpy as np
import pytest

from localelastic.report import ClusterRecord, Score


@pytest.fixture
def record():
    """Two clusters of four; c and b are dogs among the cats, h is a cat among the dogs."""
    distances = np.array(
        [[1, 9], [3, 7], [2, 8], [4, 5], [9, 2], [6, 5], [8, 1], [7.5, 6]], dtype=float
    )
    return ClusterRecord(
        question="Cats or dogs?",
        finding="Five of eight.",
        scores=(
            Score("Local elasticity", 0.625, -0.0123, 0.2, 0.5),
            Score("K-means", 0.375, 0.0, 0.0, 0.5),
            Score("PCA + K-means", 0.75, 0.1, 0.1, 0.5),
        ),
        ids=tuple(f"pets/{letter}.png" for letter in "abcdefgh"),
        labels=np.array([0, 0, 0, 0, 1, 1, 1, 1]),
        classes=("cat", "dog", "dog", "cat", "dog", "dog", "dog", "cat"),
        matched=("cat", "dog"),
        distances=distances,
        similarity=-np.abs(distances[:, :1] - distances[:, 0]) + 3.0,
        similarity_name="kernelized similarity",
        inputs=np.linspace(-1, 1, 8 * 3 * 4 * 4).reshape(8, 3, 4, 4),
        excluded=(("pets/z.png", "its own prediction did not change"),),
        settings={"lr": "1e-4"},
        environment={"Python": "3.11"},
        notes=("Training accuracy was 0.6.",),
    )


@pytest.fixture
def unknown(record):
    """The same clusters where nothing is known of the classes."""
    return replace(record, scores=(), classes=None, matched=None, finding="Two clusters of four.")
