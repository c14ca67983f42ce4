"""Kernel K-means on a similarity matrix, with restarts, under the scikit-learn contract."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.metrics.pairwise import PAIRWISE_KERNEL_FUNCTIONS, pairwise_kernels
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from localelastic.errors import DataError, SettingError
from localelastic.shapes import Labels, Mask, Square

Starts = Int[np.ndarray, "s n"]  # the labels of each start
PerStart = Float[np.ndarray, "s"]
PerCentre = Float[np.ndarray, "s k n"]

# A matrix multiplied in single precision is symmetric to about 1e-6 of its largest entry.
_SYMMETRY = 1e-5
# Objectives closer than this share of the kernel's trace are one objective.
_ROUNDING = 1e-12
# More rows than this in one product no longer make it faster, only larger.
_ROWS_PER_PRODUCT = 512


class KernelKMeans(ClusterMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    r"""K-means in the feature space of a kernel, for matrices such as the kernelized similarity.

    A cluster's centre is the mean of its members' features, so the squared distance of example
    ``i`` to the centre of cluster ``c`` needs the kernel alone:

    .. math:: d^2(i, c) = K_{ii} - \frac{2}{|c|} \sum_{j \in c} K_{ij}
                          + \frac{1}{|c|^2} \sum_{j, l \in c} K_{jl}

    Each example goes to its nearest centre (the lowest number among equals) until fewer than
    ``tol`` of the labels change. A cluster that lost all its members takes the example farthest
    from its own centre among clusters of two or more (the first among equals). Of ``n_init``
    starts the one with the least objective is kept, the earliest among those equal within rounding.

    The objective falls at every iteration when the kernel is positive semi-definite. Similarities
    of a finite step need not be: distances may then be negative (they are reported as they are) and
    the labels may cycle. Iterations are bounded by ``max_iter`` and each start keeps the best
    labelling it saw. The kernel is not centred: that would change no distance.

    The rule published with the paper, one random start, is ``KernelKMeans(init="random",
    n_init=1)``. It can land far from the best objective: look at ``start_inertias_``.

    Args:
        n_clusters: how many clusters, ``k``; at most the number of distinct examples.
        kernel: ``"precomputed"`` when ``fit`` is given the kernel matrix itself, as for a
            similarity; a name known to :func:`sklearn.metrics.pairwise.pairwise_kernels`; or a
            function of two rows. ``"linear"`` is plain K-means.
        kernel_params: keyword arguments of the kernel; not for ``"precomputed"``.
        init: ``"k-means++"`` (far-apart examples as first centres, each the best of a few draws),
            ``"random"`` (uniform labels, none left without an example), or the labels to start
            from, ``(n,)``, which makes a single start.
        n_init: how many starts.
        max_iter: at most this many updates of the labels per start.
        tol: stop a start when a smaller share of its labels changed; 0 waits for no change at all.
        random_state: seed of the starts.

    Attributes:
        labels_: ``(n,)`` the cluster of each example.
        inertia_: the objective: the sum of squared distances to the centre of the own cluster.
        distances_: ``(n, k)`` *squared* distance of each example to each centre.
        n_iter_: updates of the labels in the start that was kept.
        start_inertias_: ``(n_init,)`` the objective each start reached.
        start_labels_: ``(n_init, n)`` the labels each start reached.
        n_features_in_: columns of what ``fit`` was given.

    Example:
        On a line the centres are 0.5 and 4.5, and every point is 0.5 away from its own:

        >>> x = np.array([[0.0], [1.0], [4.0], [5.0]])
        >>> model = KernelKMeans(n_clusters=2, kernel="precomputed", random_state=0).fit(x @ x.T)
        >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[2] == model.labels_[3])
        True
        >>> round(model.inertia_, 12)  # 4 x 0.5^2
        1.0
    """

    labels_: Labels
    inertia_: float
    distances_: Float[np.ndarray, "n k"]
    n_iter_: int
    start_inertias_: PerStart
    start_labels_: Starts
    n_features_in_: int

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "kernel": [StrOptions({"precomputed", *PAIRWISE_KERNEL_FUNCTIONS}), callable],
        "kernel_params": [dict, None],
        "init": [StrOptions({"k-means++", "random"}), "array-like"],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, 1, closed="left")],
        "random_state": ["random_state"],
    }

    # "or anything": a scikit-learn constructor stores what it is given and leaves refusing to fit.
    def __init__(
        self,
        n_clusters: int | Any = 2,
        *,
        kernel: str | Callable[..., float] | Any = "linear",
        kernel_params: dict[str, Any] | Any = None,
        init: str | ArrayLike | Any = "k-means++",
        n_init: int | Any = 20,
        max_iter: int | Any = 100,
        tol: float | Any = 0.001,
        random_state: int | np.random.RandomState | Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.kernel_params = kernel_params
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: object, y: object = None) -> KernelKMeans:
        """Cluster the examples.

        Args:
            X: the kernel matrix ``(n, n)`` if ``kernel="precomputed"``, else features ``(n, d)``.
            y: ignored.

        Returns:
            The estimator itself.

        Raises:
            DataError: a kernel matrix that is not square, symmetric and finite.
            SettingError: more clusters than distinct examples, or ``init`` labels that do not fit.
            ValueError: any other parameter out of its range, from scikit-learn.

        Warns:
            UserWarning: ``X`` looks like a kernel matrix, but ``kernel`` treats it as features.
        """
        self._validate_params()
        X = validate_data(self, X, dtype=[np.float64, np.float32])
        kernel = self._kernel(X)
        check_similarity(kernel, name="kernel matrix")
        check_distinct(_twins(kernel), n=len(kernel), n_clusters=self.n_clusters)
        # Sums over a thousand entries lose what single precision has to give.
        K = np.asarray(kernel, dtype=np.float64)
        width = max(1, _ROWS_PER_PRODUCT // self.n_clusters)
        starts = _starts(K, self.n_clusters, self.init, self.n_init, self.random_state)
        runs = [
            _improve(K, starts[i : i + width], self.n_clusters, self.max_iter, float(self.tol))
            for i in range(0, len(starts), width)
        ]
        labels, inertias, iterations = (np.concatenate(part) for part in zip(*runs, strict=True))
        equal = inertias <= inertias.min() + _ROUNDING * np.abs(K.diagonal()).sum()
        best = int(np.flatnonzero(equal)[0])
        self.start_labels_, self.start_inertias_ = labels, inertias
        self.labels_, self.n_iter_ = labels[best], int(iterations[best])
        self.inertia_ = float(inertias[best])
        self.distances_ = _distances(K, self.labels_[None], self.n_clusters)[0][0].T
        self._fitted = None if self.kernel == "precomputed" else X
        self._means = _means(self.labels_[None], self.n_clusters)[0]
        self._norms = (self._means * (self._means @ K)).sum(axis=1)
        return self

    def predict(self, X: object) -> Labels:
        """The nearest centre of each new example.

        Args:
            X: kernel between new and fitted examples ``(m, n)`` if ``kernel="precomputed"``, else
                the features of the new examples ``(m, d)``.

        Returns:
            Their clusters, ``(m,)``. A fitted example keeps its label, but for the share below
            ``tol`` that would still move.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=[np.float64, np.float32])
        # The kernel of a new example with itself is the same for every centre: left out.
        nearest = (self._norms - 2 * self._kernel(X, self._fitted) @ self._means.T).argmin(axis=1)
        return np.asarray(nearest)

    def _kernel(self, X: Any, Y: Any = None) -> Any:
        if self.kernel == "precomputed":
            return X
        if Y is None and len(X) == X.shape[1] > 2 and np.array_equal(X, X.T):
            warnings.warn(
                f"expected features, got a symmetric {X.shape} matrix; if it is a kernel or "
                'similarity matrix, say KernelKMeans(kernel="precomputed")',
                stacklevel=3,
            )
        return pairwise_kernels(X, Y, metric=self.kernel, **(self.kernel_params or {}))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def check_similarity(matrix: Float[np.ndarray, "..."], *, name: str) -> None:
    """Refuse a matrix that is not square, finite and symmetric within rounding.

    Raises:
        DataError: saying which, and what to do.
    """
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise DataError(
            f"expected a square {name}, one row and column per example, got shape "
            f"{matrix.shape}; for feature vectors say KernelKMeans(kernel='linear')"
        )
    if not np.isfinite(matrix).all():
        raise DataError(
            f"expected a finite {name}, got {(~np.isfinite(matrix)).sum()} NaN or infinite "
            "entries; leave these examples out"
        )
    gap, largest = np.abs(matrix - matrix.T).max(), np.abs(matrix).max()
    if gap > _SYMMETRY * largest:
        raise DataError(
            f"expected a symmetric {name}, got entries {gap:.3g} away from their mirror image "
            f"(largest entry {largest:.3g}); pass (S + S.T) / 2"
        )


def check_distinct(twins: Callable[[int], Mask], *, n: int, n_clusters: int) -> None:
    """Refuse more clusters than distinct examples, told from ``twins(i)``: the equals of ``i``.

    Raises:
        SettingError: saying how many are distinct.
    """
    rest = np.ones(n, dtype=bool)
    for found in range(n_clusters):
        if not rest.any():
            raise SettingError(
                f"expected n_clusters up to the number of distinct examples, {found}, got "
                f"n_clusters={n_clusters} for n_samples={n}; ask for fewer clusters"
            )
        rest &= ~twins(int(rest.argmax()))


def _twins(K: Square) -> Callable[[int], Mask]:
    """The examples at no distance within rounding, in feature space."""
    rounding = 10 * np.finfo(K.dtype).eps * np.abs(K).max()
    diagonal = K.diagonal()
    return lambda i: np.abs(diagonal + K[i, i] - 2 * K[i]) <= rounding


def _starts(K: Square, k: int, init: Any, n_init: int, seed: Any) -> Starts:
    """The labels each start begins with; every cluster has an example."""
    if not isinstance(init, str):
        return _given(init, len(K), k)[None]
    rng = check_random_state(seed)
    draw = {"k-means++": _far_apart, "random": _uniform}[init]
    return np.stack([draw(K, k, rng) for _ in range(n_init)])


def _given(init: ArrayLike, n: int, k: int) -> Labels:
    labels = np.asarray(init)
    if labels.shape != (n,) or not np.array_equal(np.unique(labels), np.arange(k)):
        raise SettingError(
            f"expected init labels of shape ({n},) with each of 0 .. {k - 1} at least once, "
            f"got shape {labels.shape} with labels {np.unique(labels).tolist()[:10]}"
        )
    return labels.astype(np.intp)


def _uniform(K: Square, k: int, rng: np.random.RandomState) -> Labels:
    labels = rng.randint(k, size=len(K))
    labels[rng.permutation(len(K))[:k]] = np.arange(k)
    return labels


def _far_apart(K: Square, k: int, rng: np.random.RandomState) -> Labels:
    """k-means++: next centres are drawn by squared distance, the best of a few draws each time."""
    n, diagonal, draws = len(K), K.diagonal(), 2 + int(np.log(k))
    labels, nearest, free = np.zeros(n, dtype=np.intp), np.full(n, np.inf), np.ones(n, dtype=bool)
    centres = np.zeros(k, dtype=np.intp)
    for cluster in range(k):
        weights = np.where(free, nearest, 0)
        if not 0 < weights.sum() < np.inf:
            weights = free.astype(np.float64)
        tried = rng.choice(n, size=draws if cluster else 1, p=weights / weights.sum())
        squared = diagonal + diagonal[tried, None] - 2 * K[tried]
        # An indefinite kernel has negative ones: no weight for the next draw.
        squared = np.minimum(np.maximum(squared, 0), nearest)
        best = int(squared.sum(axis=1).argmin())
        labels[squared[best] < nearest] = cluster
        nearest, centres[cluster] = squared[best], tried[best]
        free[tried[best]] = False
    labels[centres] = np.arange(k)
    return labels


def _improve(
    K: Square, labels: Starts, k: int, max_iter: int, tol: float
) -> tuple[Starts, PerStart, Int[np.ndarray, "s"]]:
    """All starts side by side: the best labels each one saw, their objective, its iterations."""
    best, running = labels.copy(), np.arange(len(labels))
    iterations = np.zeros(len(labels), dtype=np.intp)
    squared, objectives = _distances(K, labels, k)
    for _ in range(max_iter):
        iterations[running] += 1
        moved_to = _nearest(squared)
        changed = (moved_to != labels).mean(axis=1)
        running, labels, changed = (a[changed > 0] for a in (running, moved_to, changed))
        if not running.size:
            break
        squared, reached = _distances(K, labels, k)
        better = reached < objectives[running]
        best[running[better]], objectives[running[better]] = labels[better], reached[better]
        running, labels, squared = (a[changed >= tol] for a in (running, labels, squared))
    return best, objectives, iterations


def _distances(K: Square, labels: Starts, k: int) -> tuple[PerCentre, PerStart]:
    """Squared distances to the centres of each start, and their sum over the own centres."""
    means = _means(labels, k)
    sums = (means.reshape(-1, len(K)) @ K).reshape(means.shape)
    norms = (means * sums).sum(axis=2, keepdims=True)
    squared = K.diagonal() - 2 * sums + norms
    objectives: PerStart = np.where(means > 0, squared, 0).sum(axis=(1, 2))
    return squared, objectives


def _means(labels: Starts, k: int) -> PerCentre:
    """Centres as weights of the examples."""
    member = labels[:, None, :] == np.arange(k)[:, None]
    means: PerCentre = member / member.sum(axis=2, keepdims=True)
    return means


def _nearest(squared: PerCentre) -> Starts:
    """The nearest centre of each example; no centre is left without one."""
    labels: Starts = squared.argmin(axis=1)
    for row, distances in zip(labels, squared, strict=True):
        sizes = np.bincount(row, minlength=len(distances))
        own = distances.min(axis=0)
        for empty in np.flatnonzero(sizes == 0):
            farthest = np.where(sizes[row] > 1, own, -np.inf).argmax()
            sizes[row[farthest]] -= 1
            sizes[empty] = 1
            row[farthest] = empty
    return labels
