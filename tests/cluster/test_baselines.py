"""Baselines: by hand on four points, and one equal to another where they must be."""

import warnings
from functools import partial

import numpy as np
import pytest
import torch
from sklearn.cluster import SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel

from localelastic.cluster.baselines import kmeans, pca_kmeans, row_kmeans, spectral
from localelastic.cluster.scores import clustering_accuracy
from localelastic.errors import DataError, SettingError

BLOCKS = np.kron(np.eye(2), np.ones((3, 3)))
WEAK = np.where(BLOCKS > 0, 1.0, 0.1)


def blobs(n=20):
    """Images of two kinds, ``(n, 1, 2, 3)``, and their classes."""
    kinds = np.arange(n) % 2
    noise = np.random.default_rng(0).normal(size=(n, 1, 2, 3))
    return torch.tensor(noise + 8 * kinds[:, None, None, None]), list(map(str, kinds))


@pytest.mark.parametrize("method", [kmeans, pca_kmeans])
def test_four_points_on_a_line_by_hand(method):
    x = np.array([[0.0], [1.0], [4.0], [5.0]])
    clusters = method(x, n_clusters=2)
    near, far = clusters.distances.min(axis=1), clusters.distances.max(axis=1)
    assert clusters.labels.tolist() in ([0, 0, 1, 1], [1, 1, 0, 0])
    np.testing.assert_array_equal(clusters.labels, clusters.distances.argmin(axis=1))
    np.testing.assert_allclose(near, 0.25)
    np.testing.assert_allclose(far, [4.5**2, 3.5**2, 3.5**2, 4.5**2])


@pytest.mark.parametrize("method", [kmeans, pca_kmeans])
def test_images_of_two_kinds_are_told_apart(method):
    images, kinds = blobs()
    assert clustering_accuracy(kinds, method(images, n_clusters=2).labels) == 1


def test_all_components_keep_all_distances():
    images, _ = blobs()
    flat, rotated = kmeans(images, n_clusters=2), pca_kmeans(images, n_clusters=2)
    np.testing.assert_allclose(
        np.sort(flat.distances, axis=1), np.sort(rotated.distances, axis=1), rtol=1e-6
    )


def test_a_hundred_components_drop_the_rest():
    x = np.random.default_rng(0).normal(size=(120, 110))
    whole, part = kmeans(x, n_clusters=1), pca_kmeans(x, n_clusters=1)
    energies = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    assert whole.distances.sum() - part.distances.sum() == pytest.approx(energies[100:].sum())


@pytest.mark.parametrize("similarity", [BLOCKS, WEAK])
@pytest.mark.parametrize("method", [row_kmeans, spectral])
def test_blocks_of_a_similarity_are_clusters(method, similarity):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clusters = method(similarity, n_clusters=2)
    assert clusters.labels.tolist() in ([0] * 3 + [1] * 3, [1] * 3 + [0] * 3)
    np.testing.assert_allclose(clusters.distances.min(axis=1), 0, atol=1e-12)
    if method is row_kmeans:
        apart = ((similarity[0] - similarity[-1]) ** 2).sum()
        np.testing.assert_allclose(clusters.distances.max(axis=1), apart)


def test_spectral_clusters_are_those_of_scikit_learn():
    S = rbf_kernel(np.random.default_rng(0).normal(size=(40, 2)))
    theirs = SpectralClustering(
        3, affinity="precomputed", assign_labels="discretize", random_state=0
    ).fit_predict(S)
    ours = spectral(S, n_clusters=3)
    assert adjusted_rand_score(theirs, ours.labels) == 1
    np.testing.assert_array_equal(ours.distances.argmin(axis=1), ours.labels)
    assert ours.distances.min() >= -1e-12


def test_a_few_examples_that_lie_far_out_are_no_cluster():
    """Two halves, and a tight group in the first, that K-means of eigenvectors would split off."""
    part = np.repeat([0, 1, 2], [20, 80, 100])
    S = np.array([[1, 0.2, 0], [0.2, 0.2, 0.1], [0, 0.1, 0.2]])[part][:, part]
    np.fill_diagonal(S, 1)
    assert adjusted_rand_score(part == 2, spectral(S, n_clusters=2).labels) == 1
    plain = SpectralClustering(2, affinity="precomputed", random_state=0).fit_predict(S)
    assert adjusted_rand_score(part == 0, plain) == 1


def test_spectral_refuses_negative_similarities():
    S = WEAK.copy()
    S[0, 5] = S[5, 0] = -0.5
    with pytest.raises(DataError, match=r"got 2 of 36 \(lowest -0.5\); use kernel K-means"):
        spectral(S, n_clusters=2)


@pytest.mark.parametrize("method", [row_kmeans, spectral])
def test_a_similarity_is_symmetrised_first(method):
    with pytest.raises(DataError, match="symmetric similarity matrix"):
        method(np.triu(WEAK), n_clusters=2)


@pytest.mark.parametrize("method", [kmeans, pca_kmeans, row_kmeans, spectral])
def test_more_clusters_than_distinct_examples_are_refused(method):
    with pytest.raises(SettingError, match="distinct examples, 2, got n_clusters=3"):
        method(BLOCKS, n_clusters=3)


def test_inputs_that_are_not_finite_are_refused():
    with pytest.raises(DataError, match="finite inputs"):
        kmeans(np.array([[0.0], [np.nan]]), n_clusters=1)


@pytest.mark.parametrize("method", [kmeans, pca_kmeans, row_kmeans, spectral])
def test_the_seed_decides_and_the_global_generator_is_left_alone(method):
    S = rbf_kernel(np.random.default_rng(0).normal(size=(60, 4)))
    run = partial(method, S, n_clusters=5)
    before = np.random.get_state()[1].copy()
    first, again = run(seed=3), run(seed=3)
    np.testing.assert_array_equal(first.labels, again.labels)
    np.testing.assert_array_equal(first.distances, again.distances)
    np.testing.assert_array_equal(np.random.get_state()[1], before)
