from dataclasses import replace

import numpy as np
import pytest

from localelastic.report.maps import maps


def keys(chart):
    return [(segment.key, segment.label) for segment in chart.segments]


def test_both_orders_with_their_boundaries(record):
    by_cluster, by_class = maps(record).maps
    assert [(s.name, s.start, s.width) for s in by_cluster.segments] == [
        ("0", 0, 50),
        ("1", 50, 50),
    ]
    spans = [(s.name, s.start, s.width) for s in by_class.segments]
    assert spans == [("cat", 0, 37.5), ("dog", 37.5, 62.5)]


def test_only_by_cluster_where_no_class_is_known(unknown):
    assert [chart.title for chart in maps(unknown).maps] == ["Ordered by cluster"]


def test_names_too_long_for_the_side_become_letters(record):
    long = {"cat": "a cat with a white spot on its nose", "dog": "dog"}
    renamed = replace(
        record,
        classes=tuple(long[name] for name in record.classes),
        matched=tuple(long[name] for name in record.matched),
    )
    assert keys(maps(renamed).maps[1]) == [("A", "A"), ("B", "B")]


def test_a_key_without_room_is_not_drawn(record):
    n = 200
    labels = (np.arange(n) > 0).astype(int)
    narrow = replace(
        record,
        ids=tuple(map(str, range(n))),
        labels=labels,
        classes=None,
        matched=None,
        distances=np.ones((n, 2)),
        similarity=np.eye(n),
        inputs=np.zeros((n, 2)),
    )
    assert keys(maps(narrow).maps[0]) == [("0", ""), ("1", "1")]


@pytest.mark.parametrize(("n", "block"), [(8, 1), (512, 1), (513, 2), (1025, 3)])
def test_the_caption_tells_how_many_entries_make_a_pixel(unknown, n, block):
    large = replace(
        unknown,
        ids=tuple(map(str, range(n))),
        labels=np.zeros(n, int),
        distances=np.ones((n, 1)),
        similarity=np.eye(n, dtype=np.float32),
        inputs=np.zeros((n, 2)),
    )
    assert maps(large).block == block
