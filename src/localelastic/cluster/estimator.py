"""The scikit-learn face of clustering by local elasticity."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import validate_data
from torch import nn

from localelastic.change import Auto, Strategy
from localelastic.cluster.clusterings import Clustering, Neighbours
from localelastic.cluster.kernel_kmeans import check_distinct
from localelastic.cluster.local_elasticity import N_NETWORKS, cluster_by_elasticity
from localelastic.cluster.number import Suggestion
from localelastic.data.examples import Examples
from localelastic.matrix import SimilarityMatrix
from localelastic.models import Loss, SquaredLoss, TrainingRecord, WarmUp, default_network
from localelastic.shapes import Labels
from localelastic.similarity import CentredKernelized, Similarity
from localelastic.trajectory import Frozen, Trajectory


class LocalElasticityClustering(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Clusters examples of one coarse class by how a step on one moves the others (Algorithm 1).

    A network learns to tell ``X`` from ``X_auxiliary``; then the similarity of every pair in ``X``
    is measured and clustered. No fine label is ever seen.

    Args:
        n_clusters: how many clusters, ``k``; if ``None`` as many as random parts of the examples
            agree on, see :func:`localelastic.suggest_clusters`.
        network: ``build(shape) -> torch.nn.Module`` for inputs of that shape, or a module, of which
            copies are trained. ``None``: the paper's CNN for images, else a two-layer ReLU network.
        n_networks: how many are trained, from other weights and in other mini-batches; the mean of
            their similarities is clustered. Copies of a module start from its weights.
        loss: squared loss if ``None``.
        similarity: centred, kernelized if ``None``; ``Kernelized()`` (eq. 3) is the paper's.
        layers: what steps move: ``"each"`` layer alone, in turn, ``"all"`` at once,
            ``"all-but-convolutions"``, or names of modules. If ``None`` each where steps are small
            without limit, all but convolutions where real ones are taken.
        trajectory: frozen weights if ``None``.
        strategy: how changes are computed; ``Auto()`` if ``None``.
        warm_up: training before the measurement. ``None``: a network of convolutions sees images
            of three colours moved by a few pixels and mirrored, for 24 epochs; else ``WarmUp()``.
        clustering: by nearest neighbours if ``None``; ``KMeans()`` is the paper's rule.
        random_state: seed of the networks (each further one takes the next), their mini-batches and
            the clustering.

    Attributes:
        labels_: ``(n,)`` cluster of each example, -1 where its step had no meaning.
        similarity_: the :class:`SimilarityMatrix`, with what was left out and why.
        distances_: ``(n_kept, k)`` squared distances to the clusters, as their rule has them.
        networks_: the trained networks.
        training_: how the warm-up went; that of the least training accuracy.
        suggestion_: why so many clusters, or ``None`` where the number was given.
        n_features_in_: size of the second axis of ``X``.

    Example:
        Two groups of points, told from a third that lies between them:

        >>> rng = np.random.default_rng(0)
        >>> X = np.r_[rng.normal(3, 0.3, (10, 2)), rng.normal(-3, 0.3, (10, 2))]
        >>> model = LocalElasticityClustering(random_state=0)
        >>> labels = model.fit_predict(X, rng.normal(0, 0.3, (20, 2)))
        >>> bool((labels[:10] == labels[0]).all() and (labels[10:] == 1 - labels[0]).all())
        True
    """

    labels_: Labels
    similarity_: SimilarityMatrix
    networks_: list[nn.Module]
    training_: TrainingRecord
    suggestion_: Suggestion | None
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "network": [callable, None],
        "n_networks": [Interval(Integral, 1, None, closed="left")],
        "loss": [Loss, None],
        "similarity": [Similarity, None],
        "layers": [str, "array-like", None],
        "trajectory": [Trajectory, None],
        "strategy": [HasMethods(["choose"]), Strategy, None],
        "warm_up": [WarmUp, None],
        "clustering": [Clustering, None],
        "random_state": ["random_state"],
    }

    # "or anything": a scikit-learn constructor stores what it is given and leaves refusing to fit.
    def __init__(
        self,
        n_clusters: int | Any = 2,
        *,
        network: Callable[[tuple[int, ...]], nn.Module] | nn.Module | Any = None,
        n_networks: int | Any = N_NETWORKS,
        loss: Loss | Any = None,
        similarity: Similarity | Any = None,
        layers: Sequence[str] | str | Any = None,
        trajectory: Trajectory | Any = None,
        strategy: Strategy | Auto | Any = None,
        warm_up: WarmUp | Any = None,
        clustering: Clustering | Any = None,
        random_state: int | np.random.RandomState | Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.network = network
        self.n_networks = n_networks
        self.loss = loss
        self.similarity = similarity
        self.layers = layers
        self.trajectory = trajectory
        self.strategy = strategy
        self.warm_up = warm_up
        self.clustering = clustering
        self.random_state = random_state

    @torch.inference_mode(mode=False)
    def fit(self, X: Any, X_auxiliary: Any) -> LocalElasticityClustering:
        """Train, measure, cluster.

        Args:
            X: primary examples ``(n, *shape)``, an array or a tensor.
            X_auxiliary: auxiliary examples ``(m, *shape)``.

        Returns:
            The estimator itself.

        Raises:
            InputError: examples or settings that cannot be measured; also a ``ValueError``.
            MeasurementError: the warm-up diverged, or no step had a meaning.
        """
        self._validate_params()
        primary = self._examples(X, reset=True)
        auxiliary = self._examples(X_auxiliary, reset=False)
        _check_distinct_inputs(primary, self.n_clusters or 2)
        seed = _seed(self.random_state)
        self.networks_ = [
            self._network(primary.shape, seed + number) for number in range(self.n_networks)
        ]
        found = cluster_by_elasticity(
            self.networks_,
            primary,
            auxiliary,
            n_clusters=self.n_clusters,
            loss=self.loss or SquaredLoss(),
            similarity=self.similarity or CentredKernelized(),
            layers=self.layers,
            trajectory=self.trajectory or Frozen(),
            strategy=self.strategy or Auto(),
            settings=self.warm_up,
            clustering=self.clustering or Neighbours(),
            seed=seed,
        )
        self.training_, self.similarity_ = found.training, found.similarity
        self.suggestion_ = found.suggestion
        self.distances_ = found.clusters.distances
        self.labels_ = np.full(len(primary), -1, dtype=np.intp)
        self.labels_[list(found.similarity.kept)] = found.clusters.labels
        return self

    def fit_predict(self, X: Any, X_auxiliary: Any) -> Labels:
        """Fit, and return ``labels_``; arguments as for :meth:`fit`."""
        return self.fit(X, X_auxiliary).labels_

    def _examples(self, X: Any, *, reset: bool) -> Examples:
        dtype = [np.float64, np.float32]
        array = validate_data(self, X, reset=reset, allow_nd=True, dtype=dtype)
        return Examples.of(torch.tensor(array, dtype=torch.get_default_dtype()))

    def _network(self, shape: tuple[int, ...], seed: int) -> nn.Module:
        if isinstance(self.network, nn.Module):
            return copy.deepcopy(self.network)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return (self.network or default_network)(shape)


def _check_distinct_inputs(examples: Examples, n_clusters: int) -> None:
    flat = examples.inputs.flatten(1).numpy()
    check_distinct(lambda i: (flat == flat[i]).all(1), n=len(flat), n_clusters=n_clusters)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
