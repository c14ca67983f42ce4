"""Kernel K-means: by hand, against scikit-learn's K-means, and on matrices that are no kernel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from localelastic.cluster.kernel_kmeans import KernelKMeans
from localelastic.errors import DataError, SettingError

LINE = np.array([[0.0], [1.0], [4.0], [5.0]])
SEEDS = st.integers(0, 2**16)


def precomputed(k, **settings):
    return KernelKMeans(k, kernel="precomputed", **settings)


def normal(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def objective(K, labels):
    """Half the sum over clusters of mean squared distances between members, pair by pair."""
    members = [np.flatnonzero(labels == c) for c in np.unique(labels)]
    pairs = (sum(K[i, i] + K[j, j] - 2 * K[i, j] for i in m for j in m) / len(m) for m in members)
    return sum(pairs) / 2


def not_square(estimator):
    """The checks that hand raw features to an estimator of kernel matrices."""
    if estimator.kernel == "precomputed":
        return {"check_clustering": "passes features (50, 2) where a square kernel is due"}
    return {}


@parametrize_with_checks(
    [KernelKMeans(), KernelKMeans(kernel="precomputed")], expected_failed_checks=not_square
)
def test_keeps_the_scikit_learn_contract(estimator, check):
    check(estimator)


def test_four_points_on_a_line_by_hand():
    model = precomputed(2, init=[0, 0, 0, 1]).fit(LINE @ LINE.T)
    assert model.labels_.tolist() == [0, 0, 1, 1]
    assert model.n_iter_ == 2  # one update moves the third point, one finds nothing to move
    assert model.inertia_ == pytest.approx(4 * 0.5**2)
    centres = np.array([0.5, 4.5])
    np.testing.assert_allclose(model.distances_, (LINE - centres) ** 2, atol=1e-12)


def test_new_points_go_to_the_nearest_centre():
    new = np.array([[2.4], [2.6]])
    model = precomputed(2, init=[0, 0, 1, 1]).fit(LINE @ LINE.T)
    assert model.predict(new @ LINE.T).tolist() == [0, 1]
    assert KernelKMeans(2, init=[0, 0, 1, 1]).fit(LINE).predict(new).tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(4))
def test_linear_kernel_equals_k_means_from_the_same_start(seed):
    x, start = normal(seed, 60, 3), np.arange(60) % 3
    centres = np.stack([x[start == c].mean(axis=0) for c in range(3)])
    lloyd = KMeans(3, init=centres, n_init=1, tol=0, algorithm="lloyd").fit(x)
    ours = precomputed(3, init=start, tol=0).fit(x @ x.T)
    np.testing.assert_array_equal(ours.labels_, lloyd.labels_)
    assert ours.inertia_ == pytest.approx(lloyd.inertia_)
    np.testing.assert_allclose(ours.distances_, lloyd.transform(x) ** 2, atol=1e-10)
    new = normal(seed + 10, 20, 3)
    np.testing.assert_array_equal(ours.predict(new @ x.T), lloyd.predict(new))


def test_named_and_called_kernels_equal_their_matrix():
    x = normal(0, 30, 2)
    expected = precomputed(3, random_state=0).fit(rbf_kernel(x, gamma=0.5)).labels_
    settings = {"kernel": "rbf", "kernel_params": {"gamma": 0.5}, "random_state": 0}
    np.testing.assert_array_equal(KernelKMeans(3, **settings).fit_predict(x), expected)
    settings |= {"kernel": lambda a, b, gamma: np.exp(-gamma * ((a - b) ** 2).sum())}
    np.testing.assert_array_equal(KernelKMeans(3, **settings).fit_predict(x), expected)


def test_a_kernel_separates_rings_that_k_means_cannot():
    angle = np.linspace(0, 2 * np.pi, 40, endpoint=False)
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    x, truth = np.concatenate([0.1 * ring, 3 * ring]), np.repeat([0, 1], 40)
    radius = KernelKMeans(kernel=lambda a, b: (a @ a) * (b @ b), random_state=0).fit(x)
    assert set(zip(truth, radius.labels_, strict=True)) in ({(0, 0), (1, 1)}, {(0, 1), (1, 0)})
    flat = KernelKMeans(random_state=0).fit(x)
    assert len(set(flat.labels_[truth == 1])) == 2


@given(seed=SEEDS, k=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_order_names_and_origin_do_not_matter(seed, k):
    rng = np.random.default_rng(seed)
    x, start = rng.normal(size=(15, 3)), rng.permutation(np.arange(15) % k)
    K = x @ x.T
    plain = precomputed(k, init=start).fit(K)
    order, names, offset = rng.permutation(15), rng.permutation(k), rng.normal(size=15)
    moved = precomputed(k, init=start[order]).fit(K[np.ix_(order, order)])
    np.testing.assert_array_equal(moved.labels_, plain.labels_[order])
    renamed = precomputed(k, init=names[start]).fit(K)
    np.testing.assert_array_equal(renamed.labels_, names[plain.labels_])
    shifted = precomputed(k, init=start).fit(K + offset + offset[:, None])  # centring is one
    np.testing.assert_array_equal(shifted.labels_, plain.labels_)
    np.testing.assert_allclose(shifted.distances_, plain.distances_, atol=1e-9)


@given(seed=SEEDS, k=st.integers(1, 5), init=st.sampled_from(["k-means++", "random"]))
@settings(max_examples=25, deadline=None)
def test_any_symmetric_matrix_ends_with_k_clusters_and_a_true_objective(seed, k, init):
    A = normal(seed, 12, 12)
    K = A + A.T
    model = precomputed(k, init=init, n_init=3, max_iter=30, random_state=0).fit(K)
    assert sorted(set(model.labels_)) == list(range(k))
    assert model.inertia_ == pytest.approx(objective(K, model.labels_))
    assert model.inertia_ == pytest.approx(model.start_inertias_.min())
    own = model.distances_[np.arange(12), model.labels_]
    assert own.sum() == pytest.approx(model.inertia_)


def test_a_matrix_that_cycles_stops_with_the_best_labels_it_saw():
    A = normal(1, 12, 12)
    start = np.arange(12) % 2
    runs = [precomputed(2, init=start, max_iter=m).fit(A + A.T) for m in (1, 2, 3, 4, 50)]
    assert runs[-1].n_iter_ == 50
    inertias = [run.inertia_ for run in runs]
    assert inertias == sorted(inertias, reverse=True)


def test_negative_squared_distances_are_reported():
    assert precomputed(2, random_state=0).fit(-LINE @ LINE.T).distances_.min() < 0


def test_an_empty_cluster_takes_the_farthest_example():
    # Centres 0, -9 and 9: the middle one loses both its points, each 1 away from the centre it
    # joins. The first of them comes back.
    x = np.array([[-10.0], [-9.0], [9.0], [10.0]])
    model = precomputed(3, init=[0, 1, 2, 0]).fit(x @ x.T)
    assert model.labels_.tolist() == [0, 1, 2, 2]
    assert model.inertia_ == pytest.approx(0.5)


def test_one_cluster_and_one_cluster_each():
    x = normal(0, 7, 2)
    one = precomputed(1, random_state=0).fit(x @ x.T)
    assert one.inertia_ == pytest.approx(7 * x.var(axis=0).sum())
    each = precomputed(7, random_state=0).fit(x @ x.T)
    assert sorted(each.labels_) == list(range(7))
    assert each.inertia_ == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_duplicates_share_a_cluster_and_count_once(dtype):
    x, noise = np.repeat(normal(0, 3, 5), 4, axis=0), normal(1, 12, 12)
    rounding = np.finfo(dtype).eps * (noise + noise.T)  # as products summed in another order have
    K = (x @ x.T * (1 + rounding)).astype(dtype)
    model = precomputed(3, random_state=0).fit(K)
    np.testing.assert_array_equal(model.labels_, np.repeat(model.labels_[::4], 4))
    assert len(set(model.labels_)) == 3
    with pytest.raises(SettingError, match="distinct examples, 3, got n_clusters=4"):
        precomputed(4).fit(K)


def test_the_spread_over_starts_is_kept_and_the_best_returned():
    x = normal(0, 80, 2)
    model = precomputed(6, init="random", n_init=12, random_state=0).fit(x @ x.T)
    assert np.ptp(model.start_inertias_) > 0.1
    np.testing.assert_array_equal(
        model.labels_, model.start_labels_[model.start_inertias_.argmin()]
    )
    alone = [objective(x @ x.T, labels) for labels in model.start_labels_]
    np.testing.assert_allclose(model.start_inertias_, alone)


def test_the_first_of_equal_starts_is_kept():
    x = np.concatenate([normal(i, 50, 2) + 100 * i for i in range(5)])
    model = precomputed(5, n_init=7, random_state=0).fit(x @ x.T)
    # The same clusters under other numbers; products of 7 x 5 rows round some of them differently.
    np.testing.assert_allclose(model.start_inertias_, model.inertia_)
    assert len(set(map(tuple, model.start_labels_))) > 1
    np.testing.assert_array_equal(model.labels_, model.start_labels_[0])


def test_stops_when_fewer_than_tol_of_the_labels_move():
    x, start = normal(3, 400, 2), np.arange(400) % 4
    loose, strict = (precomputed(4, init=start, tol=t).fit(x @ x.T) for t in (0.02, 0))
    assert loose.n_iter_ < strict.n_iter_
    assert 0 < (loose.predict(x @ x.T) != loose.labels_).mean() < 0.02
    np.testing.assert_array_equal(strict.predict(x @ x.T), strict.labels_)


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.ones((3, 2)), "square kernel matrix.*shape.*3, 2"),
        (np.array([[0.0, 1.0], [2.0, 0.0]]), r"symmetric kernel matrix.*1 away.*\(S \+ S\.T\) / 2"),
        (np.array([[0.0, np.nan], [np.nan, 0.0]]), "NaN"),
    ],
)
def test_a_matrix_that_is_no_similarity_is_refused(matrix, words):
    with pytest.raises(ValueError, match=words):
        precomputed(2).fit(matrix)


def test_a_kernel_that_overflows_is_refused():
    with pytest.raises(DataError, match="finite kernel matrix, got 4 NaN or infinite"):
        KernelKMeans(kernel=lambda a, b: np.inf).fit(LINE[:2])


@pytest.mark.parametrize("init", [[0, 1, 1], [0, 0, 0, 0], [0, 1, 2, 1]])
def test_start_labels_that_do_not_fit_are_refused(init):
    with pytest.raises(SettingError, match=r"shape \(4,\) with each of 0 .. 1 at least once"):
        KernelKMeans(2, init=init).fit(LINE)


def test_settings_out_of_range_are_refused_at_fit_only():
    for setting in ({"n_clusters": 0}, {"init": "best"}, {"tol": 1}, {"kernel": "none"}):
        model = clone(KernelKMeans()).set_params(**setting)
        with pytest.raises(ValueError, match=next(iter(setting))):
            model.fit(LINE)


def test_a_similarity_taken_for_features_is_noticed():
    with pytest.warns(UserWarning, match='say KernelKMeans\\(kernel="precomputed"\\)'):
        KernelKMeans(random_state=0).fit(LINE @ LINE.T)
