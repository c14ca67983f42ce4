"""Clustering by local elasticity, and how well clusters match known classes."""

from localelastic.cluster.baselines import Clusters, kmeans, pca_kmeans, row_kmeans, spectral
from localelastic.cluster.clusterings import (
    CLUSTERINGS,
    N_NEIGHBORS,
    N_STARTS,
    Clustering,
    KMeans,
    MatrixClusters,
    Neighbours,
    cluster_matrix,
)
from localelastic.cluster.estimator import LocalElasticityClustering
from localelastic.cluster.kernel_kmeans import KernelKMeans
from localelastic.cluster.local_elasticity import (
    N_NETWORKS,
    ElasticClusters,
    cluster_by_elasticity,
    default_layers,
)
from localelastic.cluster.number import Suggestion, suggest_clusters
from localelastic.cluster.scores import (
    Scores,
    chance_accuracy,
    clustering_accuracy,
    match_clusters,
    score_clusters,
)

__all__ = [
    "CLUSTERINGS",
    "N_NEIGHBORS",
    "N_NETWORKS",
    "N_STARTS",
    "Clustering",
    "Clusters",
    "ElasticClusters",
    "KMeans",
    "KernelKMeans",
    "LocalElasticityClustering",
    "MatrixClusters",
    "Neighbours",
    "Scores",
    "Suggestion",
    "chance_accuracy",
    "cluster_by_elasticity",
    "cluster_matrix",
    "clustering_accuracy",
    "default_layers",
    "kmeans",
    "match_clusters",
    "pca_kmeans",
    "row_kmeans",
    "score_clusters",
    "spectral",
    "suggest_clusters",
]
