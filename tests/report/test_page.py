from dataclasses import replace

from localelastic.report import Score
from localelastic.report.page import confusion, figures


def shown(record):
    return [(figure.label, figure.value + figure.unit, figure.detail) for figure in figures(record)]


def test_ours_then_the_best_baseline_then_chance(record):
    assert shown(record) == [
        ("accuracy", "62.5%", "5 of 8 in the cluster of their class"),
        ("best baseline", "75.0%", "PCA + K-means"),
        ("chance", "50.0%", "random clusters, matched as well as can be"),
    ]


def test_without_baselines_and_chance_ours_stands_alone(record):
    alone = replace(record, scores=(Score("Local elasticity", 0.625, None, None, None),))
    assert [label for label, _, _ in shown(alone)] == ["accuracy"]


def test_sizes_where_no_class_is_known(unknown):
    half = "50% of the examples"
    assert shown(unknown) == [
        ("clusters", "2", "of 8 examples"),
        ("cluster 0", "4", half),
        ("cluster 1", "4", half),
    ]


def test_confusion_by_hand(record, unknown):
    table = confusion(record)
    assert table.classes == ("cat", "dog")
    assert table.counts.tolist() == [[2, 2], [1, 3]]
    assert confusion(unknown) is None
