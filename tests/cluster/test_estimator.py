from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.utils.estimator_checks import parametrize_with_checks
from torch import nn

from localelastic.change import Replay
from localelastic.cluster import (
    KMeans,
    LocalElasticityClustering,
    cluster_matrix,
    clustering_accuracy,
)
from localelastic.data.examples import Examples
from localelastic.errors import SettingError
from localelastic.measure import similarity_matrix
from localelastic.models import SquaredLoss, TwoLayer, WarmUp, warm_up
from localelastic.similarity import CentredKernelized, Kernelized, Relative
from localelastic.trajectory import Sequential


class AgainstItself(LocalElasticityClustering):
    """scikit-learn's checks know no auxiliary set: this one trains against shifted examples."""

    def fit(self, X, y=None):
        try:
            shifted = np.asarray(X, dtype=float) + 1.0
        except (TypeError, ValueError):  # not numbers: fit must be the one to say so
            shifted = X
        return super().fit(X, shifted)

    def fit_predict(self, X, y=None):
        return self.fit(X).labels_


def narrow(shape):
    return TwoLayer(shape, width=8)


@parametrize_with_checks(
    [AgainstItself(network=narrow, warm_up=WarmUp(epochs=1), clustering=KMeans(2))]
)
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def groups(seed=0):
    random = np.random.default_rng(seed)
    X = np.r_[random.normal(2, 0.4, (12, 3)), random.normal(-2, 0.4, (12, 3))]
    return X, random.normal(0, 0.3, (20, 3)), ["a"] * 12 + ["b"] * 12


@pytest.mark.parametrize("similarity", [Kernelized(), Relative()])
@pytest.mark.parametrize("trajectory", [None, Sequential()])
def test_tells_groups_apart(similarity, trajectory):
    X, auxiliary, classes = groups()
    model = LocalElasticityClustering(
        network=lambda shape: TwoLayer(shape, width=64),
        similarity=similarity,
        trajectory=trajectory,
        random_state=0,
    )
    labels = model.fit_predict(X, auxiliary)
    assert clustering_accuracy(classes, labels) == 1.0
    assert model.distances_.shape == (24, 2)
    np.testing.assert_array_equal(model.distances_.argmin(1), labels)


def test_is_warm_up_then_matrix_then_clusters():
    X, auxiliary, _ = groups()
    torch.manual_seed(5)
    network = TwoLayer((3,), width=16)
    before = network.readout.weight.detach().clone()
    model = LocalElasticityClustering(
        network=network, n_networks=1, strategy=Replay(0.01), random_state=3
    )
    model.fit(X, auxiliary)
    assert torch.equal(network.readout.weight, before)

    sides = (Examples.of(torch.tensor(X).float()), Examples.of(torch.tensor(auxiliary).float()))
    warm_up(network, *sides, loss=SquaredLoss(), settings=WarmUp(), seed=3)
    matrix = similarity_matrix(
        network, *sides, similarity=CentredKernelized(), strategy=Replay(0.01)
    )
    np.testing.assert_array_equal(model.similarity_.values, matrix.values)
    expected = cluster_matrix(matrix, n_clusters=2, seed=3).labels
    np.testing.assert_array_equal(model.labels_, expected)


def test_a_seed_gives_the_same_and_leaves_the_global_state_alone():
    X, auxiliary, _ = groups()
    state, random = torch.get_rng_state(), np.random.get_state()[1].copy()
    first, again = (
        LocalElasticityClustering(random_state=1, warm_up=WarmUp(epochs=2)).fit(X, auxiliary)
        for _ in range(2)
    )
    np.testing.assert_array_equal(first.similarity_.values, again.similarity_.values)
    assert torch.equal(torch.get_rng_state(), state)
    np.testing.assert_array_equal(np.random.get_state()[1], random)


def test_images_get_the_cnn():
    images = np.random.default_rng(0).normal(size=(6, 1, 16, 16))
    model = LocalElasticityClustering(warm_up=WarmUp(epochs=1), random_state=0)
    model.fit(images, images[:4] + 1)
    assert [type(network).__name__ for network in model.networks_] == ["CNN"] * 3
    weights = [network.readout.bias.item() for network in model.networks_]
    assert len(set(weights)) == 3


def test_examples_without_a_meaning_get_minus_one():
    class Dead(nn.Module):
        def __init__(self, shape):
            super().__init__()
            self.layer = nn.Linear(3, 4, bias=False)

        def forward(self, inputs):
            return torch.relu(self.layer(inputs)).sum(1)

    X, auxiliary, _ = groups()
    X[5] = 0.0
    model = LocalElasticityClustering(
        network=Dead, n_networks=1, warm_up=WarmUp(epochs=1), random_state=0
    )
    labels = model.fit_predict(X, auxiliary)
    assert labels[5] == -1
    assert (np.delete(labels, 5) >= 0).all()
    assert [name for name, _ in model.similarity_.excluded] == ["5"]


def test_more_clusters_than_distinct_examples():
    X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    with pytest.raises(SettingError, match="number of distinct examples, 2"):
        LocalElasticityClustering(n_clusters=3).fit(X, X + 1)


@pytest.mark.parametrize(
    ("shape", "network", "epochs"),
    [((3, 16, 16), None, 24), ((1, 16, 16), None, 12), ((3, 16, 16), narrow, 12)],
)
def test_colour_images_vary_while_a_network_of_convolutions_learns(shape, network, epochs):
    X = np.random.default_rng(0).random((16, *shape)).astype(np.float32)
    model = LocalElasticityClustering(network=network, n_networks=1, random_state=0)
    assert len(model.fit(X[:10], X[10:]).training_.losses) == epochs


def test_inside_inference_mode():
    X, auxiliary, _ = groups()
    model = LocalElasticityClustering(warm_up=WarmUp(1), n_networks=1, random_state=0)
    expected = model.fit(X, auxiliary).similarity_.values
    with torch.inference_mode():
        np.testing.assert_array_equal(model.fit(X, auxiliary).similarity_.values, expected)
