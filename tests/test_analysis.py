"""Analyses with answers known by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from localelastic.analysis import activation_cosine, correlation, interval, rank_sum
from localelastic.errors import DataError


def test_interval_by_hand():
    found = interval([1.0, 2.0, 3.0, 4.0])
    half = 3.182446 * 1.290994 / 2  # t(0.975, 3), standard deviation, sqrt(4)
    assert (found.mean, found.n) == (2.5, 4)
    assert found.low == pytest.approx(2.5 - half, abs=1e-5)
    assert found.high == pytest.approx(2.5 + half, abs=1e-5)
    assert found.holds(4.5)
    assert not found.holds(4.6)


def test_intervals_hold_the_truth_as_often_as_they_say():
    random = np.random.default_rng(0)
    held = [interval(random.normal(3, 2, 5).tolist()).holds(3.0) for _ in range(2000)]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_one_more_run_lies_in_its_interval_as_often_as_it_says():
    random = np.random.default_rng(0)
    runs = random.normal(3, 2, (2000, 6))
    held = [interval(run[:5].tolist()).holds_run(float(run[5])) for run in runs]
    assert np.mean(held) == pytest.approx(0.95, abs=0.015)


def test_one_value_has_no_interval():
    found = interval([2.0])
    assert (found.mean, found.low, found.high, found.holds(2.0)) == (2.0, None, None, None)


@pytest.mark.parametrize("values", [[], [1.0, float("nan")], [float("inf")]])
def test_values_that_have_no_mean(values):
    with pytest.raises(DataError, match="finite values"):
        interval(values)


def test_correlation_with_and_without_self_pairs():
    distances = np.abs(np.subtract.outer(np.arange(5.0), np.arange(5.0)))
    values = np.exp(-distances)
    values[np.eye(5, dtype=bool)] = 100.0
    others = ~np.eye(5, dtype=bool)
    found = correlation(values, distances)
    assert found.n_pairs == 20
    assert found.spearman == pytest.approx(-1)
    assert found.pearson == pytest.approx(np.corrcoef(values[others], distances[others])[0, 1])
    with_self = correlation(values, distances, self_pairs=True)
    assert with_self.n_pairs == 25
    assert with_self.pearson == pytest.approx(np.corrcoef(values.ravel(), distances.ravel())[0, 1])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.ones((3, 3)), "vary"),
        (np.full((3, 3), np.nan), "finite"),
    ],
)
def test_what_cannot_be_correlated(values, words):
    distances = np.arange(9.0).reshape(3, 3)
    with pytest.raises(DataError, match=words):
        correlation(values, distances)


def test_activation_cosine_by_hand():
    active = np.array([[1.0, 1, 0, 0], [1, 1, 1, 1], [0, 0, 1, 0]])
    expected = [[1, 2 / 8**0.5, 0], [2 / 8**0.5, 1, 0.5], [0, 0.5, 1]]
    np.testing.assert_allclose(activation_cosine(active), expected)
    with pytest.raises(DataError, match="none at 1"):
        activation_cosine(np.array([[1.0, 0], [0, 0]]))


def test_rank_sum_is_wilcoxons():
    random = np.random.default_rng(1)
    first, second = random.normal(0.8, 1, 30), random.normal(0, 1, 40)
    found = rank_sum(first.tolist(), second.tolist())
    assert found.p == pytest.approx(stats.ranksums(first, second).pvalue, rel=0.05)
    assert found.above == pytest.approx((first[:, None] > second[None]).mean())
    assert rank_sum([1.0, 2.0, 3.0], [4.0, 5.0, 6.0]).p == pytest.approx(0.1)  # 2 of the 20 orders
    with pytest.raises(DataError, match="finite"):
        rank_sum([1.0], [])
