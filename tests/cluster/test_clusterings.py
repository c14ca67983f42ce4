"""Rules that turn similarities into clusters, and how many there are."""

from __future__ import annotations

import numpy as np
import pytest

from localelastic import KMeans, Neighbours, suggest_clusters
from localelastic.cluster import cluster_matrix, clustering_accuracy
from localelastic.errors import SettingError
from localelastic.matrix import SimilarityMatrix
from localelastic.similarity import Kernelized, Relative
from worlds import unchecked


def matrix(values, similarity=Kernelized()):
    ids = tuple(map(str, range(len(values))))
    kept = tuple(range(len(values)))
    return SimilarityMatrix(np.asarray(values, float), ids, kept, (), similarity, "test", True)


def kernel_of(points):
    return matrix(points @ points.T)


def moons(n=60, seed=0):
    """Two long groups side by side: near neighbours tell them apart, centres do not."""
    random = np.random.default_rng(seed)
    x = np.tile(np.linspace(0, 10, n), 2)
    y = np.repeat([0.0, 1.5], n)
    points = np.c_[x, y] + random.normal(0, 0.1, (2 * n, 2))
    return points, tuple("ab"[i >= n] for i in range(2 * n))


def test_neighbours_tell_long_groups_apart_where_k_means_does_not():
    points, classes = moons()
    found = cluster_matrix(kernel_of(points), n_clusters=2)
    assert clustering_accuracy(classes, found.labels) == 1
    printed = cluster_matrix(kernel_of(points), n_clusters=2, clustering=KMeans())
    assert clustering_accuracy(classes, printed.labels) < 0.7
    assert found.distances.shape == (120, 2)
    assert (found.distances.argmin(1) == found.labels).all()


def test_graph_by_hand():
    kernel = kernel_of(np.array([[0.0], [1.0], [3.0], [3.5]]))
    graph = Neighbours(1).graph(kernel)
    expected = [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]]
    np.testing.assert_array_equal(graph, expected)
    graph = Neighbours(2).graph(kernel)
    assert graph[0].tolist() == [0, 1, 0.5, 0]  # 2 is among the nearest of 0, not the reverse
    np.testing.assert_array_equal(graph, graph.T)


def test_what_is_similar_is_near_where_there_is_no_kernel():
    values = [[1.0, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]]
    graph = Neighbours(1).graph(matrix(values, Relative()))
    assert graph.tolist() == [[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]]


def test_scale_and_offset_of_a_kernel_do_not_matter():
    points, _ = moons()
    once = Neighbours().graph(kernel_of(points))
    moved = Neighbours().graph(kernel_of(7 * points))
    np.testing.assert_array_equal(once, moved)


@pytest.mark.parametrize(("n", "count"), [(200, 5), (20, 5), (16, 4), (9, 2), (3, 1), (2, 1)])
def test_fewer_neighbours_of_few(n, count):
    assert f"{count} nearest" in Neighbours().words(matrix(np.eye(n)))


def test_refusals():
    with pytest.raises(SettingError, match="n_neighbors up to 3"):
        Neighbours(4).graph(matrix(np.eye(4)))
    with pytest.raises(SettingError, match="n_neighbors"):
        Neighbours(0)
    same = matrix(np.ones((5, 5)))
    with pytest.raises(SettingError, match="distinct"):
        cluster_matrix(same, n_clusters=2)


def groups(k, n=40, seed=0):
    random = np.random.default_rng(seed)
    centres = 8 * np.eye(k, 20)
    points = np.repeat(centres, n, axis=0) + random.normal(0, 1, (k * n, 20))
    return kernel_of(points)


@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("clustering", [Neighbours(), KMeans(5)])
def test_as_many_as_there_are(k, clustering):
    found = suggest_clusters(groups(k), most=6, clustering=clustering)
    assert found.k == k
    assert found.gap_k == k
    assert set(found.stability) == {2, 3, 4, 5, 6}
    assert found.stability[k] > 0.95


def test_suggestions_are_repeatable_and_need_examples():
    assert suggest_clusters(groups(3), most=4) == suggest_clusters(groups(3), most=4)
    with pytest.raises(SettingError, match="at most 4 clusters"):
        suggest_clusters(groups(2, n=20), most=8)
    with pytest.raises(SettingError, match="matrix to be of SimilarityMatrix"):
        unchecked(suggest_clusters)(np.ones((30, 30)))
