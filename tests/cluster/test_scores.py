"""Accuracy by optimal assignment: by hand, by trying every matching, and by chance."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from localelastic.cluster.scores import (
    chance_accuracy,
    clustering_accuracy,
    match_clusters,
    score_clusters,
)
from localelastic.errors import ClassError, DataError, SettingError
from worlds import unchecked

PAIRS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=12)
TWO = ["a"] * 10 + ["b"] * 10


def columns(pairs):
    classes, labels = zip(*pairs, strict=True)
    return list(classes), np.array(labels)


@pytest.mark.parametrize(
    ("classes", "labels", "accuracy", "matched"),
    [
        ("aabb", [1, 1, 0, 0], 1.0, ("b", "a")),
        ("aabb", [0, 0, 1, 2], 0.75, ("a", "b", None)),  # a cluster too many counts as wrong
        ("aabbc", [0, 0, 1, 1, 1], 0.8, ("a", "b")),  # and so does a class too many
        ("aaab", [0, 0, 0, 0], 0.75, ("a",)),
        ("aabb", [0, 0, 2, 2], 1.0, ("a", None, "b")),  # a cluster without members
    ],
)
def test_accuracy_and_matching_by_hand(classes, labels, accuracy, matched):
    assert clustering_accuracy(list(classes), np.array(labels)) == accuracy
    assert match_clusters(list(classes), np.array(labels)) == matched


def test_a_cluster_is_not_called_by_a_class_it_has_no_member_of():
    assert match_clusters(list("abcaa"), np.array([0, 0, 0, 1, 2])).count(None) == 1


@given(PAIRS)
def test_accuracy_is_the_best_over_all_matchings(pairs):
    classes, labels = columns(pairs)
    best = max(
        np.mean([names[label] == c for c, label in zip(classes, labels, strict=True)])
        for names in permutations(["a", "b", "c", None])
    )
    assert clustering_accuracy(classes, labels) == pytest.approx(best)


@given(PAIRS, st.permutations(range(4)))
def test_the_numbers_of_the_clusters_do_not_matter(pairs, numbers):
    classes, labels = columns(pairs)
    renumbered = np.array(numbers)[labels]
    assert clustering_accuracy(classes, renumbered) == clustering_accuracy(classes, labels)


def test_two_clusters_of_twenty_examples_get_0_588_by_chance():
    # 1/2 + E|X - 10| / 20 with X binomial (20, 1/2)
    assert chance_accuracy(TWO, 2, draws=5_000) == pytest.approx(0.588, abs=0.003)
    assert chance_accuracy(TWO, 2) == chance_accuracy(TWO, 2) != chance_accuracy(TWO, 2, seed=1)


def test_chance_of_one_cluster_is_the_largest_class():
    assert chance_accuracy(list("aaab"), 1) == 0.75


def test_chance_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].copy()
    chance_accuracy(TWO, 2, draws=2)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_all_scores_of_a_perfect_and_of_an_unrelated_clustering():
    perfect = score_clusters(TWO, np.repeat([1, 0], 10))
    assert (perfect.accuracy, perfect.ari, perfect.nmi) == (1, 1, pytest.approx(1))
    assert perfect.chance == chance_accuracy(TWO, 2)
    unrelated = score_clusters(TWO, np.tile([0, 1], 10))
    assert unrelated.accuracy == 0.5 < unrelated.chance
    assert unrelated.ari < 0
    assert unrelated.nmi == pytest.approx(0)


def test_labels_of_left_out_examples_are_refused():
    with pytest.raises(DataError, match=r"2 below 0.*keep = labels >= 0"):
        score_clusters(list("aabb"), np.array([-1, 0, 1, -1]))


@pytest.mark.parametrize("score", [clustering_accuracy, match_clusters, score_clusters])
@pytest.mark.parametrize(
    ("classes", "labels", "error", "words"),
    [
        (list("abb"), [0, 1], ClassError, "got 3 classes for 2 labels"),
        ([], [], ClassError, r"row of classes.*\(0,\)"),
        ([["a"], ["b"]], [0, 1], ClassError, r"row of classes.*\(2, 1\)"),
        ([0.0, np.nan], [0, 1], ClassError, "none for 1 .first: position 1."),
        (["a", None], [0, 1], ClassError, "none for 1 .first: position 1."),
        (list("ab"), [0.0, 1.0], DataError, "whole numbers, got an array of float64"),
        (list("ab"), [[0], [1]], DataError, r"shape \(2, 1\)"),
    ],
)
def test_one_class_and_one_label_for_each_example(score, classes, labels, error, words):
    with pytest.raises(error, match=words):
        unchecked(score)(classes, np.array(labels, dtype=None if labels else int))


def test_labels_may_be_a_list():
    assert unchecked(score_clusters)(list("aabb"), [0, 0, 1, 1]).accuracy == 1


@pytest.mark.parametrize(
    ("classes", "settings", "error"),
    [
        ([], {"n_clusters": 2}, ClassError),
        (TWO, {"n_clusters": 0}, SettingError),
        (TWO, {"n_clusters": 2, "draws": 0}, SettingError),
    ],
)
def test_chance_of_nothing_is_refused(classes, settings, error):
    with pytest.raises(error):
        chance_accuracy(classes, **settings)
