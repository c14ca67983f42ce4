"""What local elasticity is compared with, and the K-means of relative similarity: scikit-learn."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Shaped
from sklearn.cluster import KMeans, spectral_clustering
from sklearn.decomposition import PCA
from sklearn.manifold import spectral_embedding
from threadpoolctl import threadpool_limits

from localelastic.cluster.kernel_kmeans import check_distinct, check_similarity
from localelastic.errors import DataError
from localelastic.shapes import Inputs, Labels, Square

Points = Float[np.ndarray, "n d"]

_STARTS = 10
_COMPONENTS = 100


@dataclass(frozen=True, eq=False)
class Clusters:
    """The clusters of one method.

    Args:
        labels: the cluster of each example, ``0 .. k-1``.
        distances: ``(n, k)`` *squared* distance of each example to the centre of each cluster, in
            the space where the method runs K-means.
    """

    labels: Labels
    distances: Float[np.ndarray, "n k"]


def kmeans(
    inputs: Inputs | Shaped[np.ndarray, "n *shape"], *, n_clusters: int, seed: int = 0
) -> Clusters:
    """K-means on the flattened inputs: k-means++, the best of 10 starts.

    Args:
        inputs: the primary examples.
        n_clusters: how many clusters, ``k``.
        seed: of the starts.

    Returns:
        Labels, and squared distances between flattened inputs and centres.

    Raises:
        DataError: inputs that are not finite.
        SettingError: fewer distinct inputs than clusters.
    """
    return _kmeans(_distinct(_flatten(inputs), n_clusters), n_clusters, seed)


def pca_kmeans(
    inputs: Inputs | Shaped[np.ndarray, "n *shape"], *, n_clusters: int, seed: int = 0
) -> Clusters:
    """K-means on the first 100 principal components of the inputs; all where there are fewer.

    Args:
        inputs: the primary examples; the components are theirs alone.
        n_clusters: how many clusters, ``k``.
        seed: of the starts.

    Returns:
        Labels, and squared distances between projected inputs and centres.

    Raises:
        DataError: inputs that are not finite.
        SettingError: fewer distinct inputs than clusters.
    """
    points = _distinct(_flatten(inputs), n_clusters)
    pca = PCA(n_components=min(_COMPONENTS, *points.shape), svd_solver="full")
    return _kmeans(pca.fit_transform(points), n_clusters, seed)


def row_kmeans(similarity: Square, *, n_clusters: int, seed: int = 0) -> Clusters:
    """K-means with each row of a similarity matrix as features: the rule for relative similarity.

    Args:
        similarity: symmetrised, ``(n, n)``.
        n_clusters: how many clusters, ``k``.
        seed: of the 10 starts (k-means++).

    Returns:
        Labels, and squared distances between rows and centres.

    Raises:
        DataError: a matrix that is not square, symmetric and finite.
        SettingError: fewer distinct rows than clusters.
    """
    check_similarity(similarity, name="similarity matrix")
    return _kmeans(_distinct(_flatten(similarity), n_clusters), n_clusters, seed)


def spectral(similarity: Square, *, n_clusters: int, seed: int = 0) -> Clusters:
    """Spectral clustering: leading eigenvectors of the normalised similarity graph, discretised.

    Eigenvectors say the clusters up to a rotation; it is found so that each example lies as near as
    can be to one axis (Yu and Shi, "Multiclass Spectral Clustering", ICCV 2003). K-means in their
    space would rather split off a few examples that lie far out, such as pictures of one thing.

    Similarities are the weights of a graph, so they must not be negative; a negative one has no
    meaning here and is refused rather than clipped or shifted, which would be another similarity.

    Args:
        similarity: symmetrised, ``(n, n)``, no entry below 0, such as the relative similarity.
        n_clusters: how many clusters, ``k``, and how many eigenvectors.
        seed: of the eigenvector solver and of the first rotation.

    Returns:
        Labels, and squared distances to the axes, from directions in the space of the eigenvectors.

    Raises:
        DataError: a matrix that is not square, symmetric, finite and non-negative.
        SettingError: fewer distinct rows than clusters.
    """
    check_similarity(similarity, name="similarity matrix")
    negative = int((similarity < 0).sum())
    if negative:
        raise DataError(
            f"expected no similarity below 0 for spectral clustering, got {negative} of "
            f"{similarity.size} (lowest {similarity.min():.3g}); use kernel K-means, which takes "
            "any sign, or the relative similarity"
        )
    _distinct(similarity, n_clusters)
    with warnings.catch_warnings():
        # A graph in unconnected parts is the easiest case here: a part has its own eigenvector.
        warnings.filterwarnings("ignore", message="Graph is not fully connected")
        warnings.filterwarnings("ignore", message="k >= N")  # few examples: solved all the same
        labels = spectral_clustering(
            similarity, n_clusters=n_clusters, assign_labels="discretize", random_state=seed
        )
        vectors = spectral_embedding(
            similarity, n_components=n_clusters, drop_first=False, random_state=seed
        )
    return Clusters(labels.astype(np.intp), _distances_to_axes(vectors, labels, n_clusters))


def _distances_to_axes(vectors: Points, labels: Labels, n_clusters: int) -> Points:
    """Of each direction to each cluster's axis, in the rotation that fits the labels best."""
    scaled = vectors / np.linalg.norm(vectors, axis=0)
    directions = scaled / np.maximum(np.linalg.norm(scaled, axis=1, keepdims=True), 1e-300)
    left, _, right = np.linalg.svd(np.eye(n_clusters)[labels].T @ directions)
    return 2 - 2 * directions @ (left @ right).T


def _kmeans(points: Points, n_clusters: int, seed: int) -> Clusters:
    # On several threads scikit-learn adds up in the order of arrival: not the same bits each time.
    with threadpool_limits(1, user_api="openmp"):
        model = KMeans(n_clusters, n_init=_STARTS, random_state=seed).fit(points)
    return Clusters(model.labels_.astype(np.intp), model.transform(points) ** 2)


def _flatten(inputs: Inputs | Shaped[np.ndarray, "n *shape"]) -> Points:
    tensor = torch.as_tensor(inputs).detach().cpu().double()
    points = tensor.reshape(len(tensor), math.prod(tensor.shape[1:])).numpy()
    if not np.isfinite(points).all():
        raise DataError("expected finite inputs, got NaN or infinity; leave these examples out")
    return points


def _distinct(points: Points, n_clusters: int) -> Points:
    """The points; too few distinct ones are refused, where scikit-learn would only warn."""
    check_distinct(
        lambda i: (points == points[i]).all(axis=1), n=len(points), n_clusters=n_clusters
    )
    return points
