"""Clustering by local elasticity, and how well clusters match known classes."""

from localelastic.cluster.baselines import Clusters, kmeans, pca_kmeans, row_kmeans, spectral
from localelastic.cluster.estimator import LocalElasticityClustering
from localelastic.cluster.kernel_kmeans import KernelKMeans
from localelastic.cluster.local_elasticity import (
    ElasticClusters,
    MatrixClusters,
    cluster_by_elasticity,
    cluster_matrix,
)
from localelastic.cluster.scores import (
    Scores,
    chance_accuracy,
    clustering_accuracy,
    match_clusters,
    score_clusters,
)

__all__ = [
    "Clusters",
    "ElasticClusters",
    "KernelKMeans",
    "LocalElasticityClustering",
    "MatrixClusters",
    "Scores",
    "chance_accuracy",
    "cluster_by_elasticity",
    "cluster_matrix",
    "clustering_accuracy",
    "kmeans",
    "match_clusters",
    "pca_kmeans",
    "row_kmeans",
    "score_clusters",
    "spectral",
]
