from dataclasses import replace

import numpy as np
import pytest

from localelastic.report.gallery import clusters


def test_wrong_ones_are_marked_everywhere_and_listed(record):
    cats = clusters(record)[0]
    assert [(one.short, one.wrong) for one in cats.typical] == [("a.png", False), ("c.png", True)]
    assert [(one.id, one.known) for one in cats.wrong] == [
        ("pets/c.png", "dog"),
        ("pets/b.png", "dog"),
    ]
    assert cats.all_wrong == (("pets/c.png", "dog"), ("pets/b.png", "dog"))


def test_typical_and_border_share_out_a_small_cluster(record):
    cats = clusters(record)[0]
    assert [one.short for one in cats.border] == ["d.png", "b.png"]
    assert [one.margin for one in cats.border] == [1, 4]


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((3, 2, 2), "source"), ((4, 3), "source"), ((12,), "points"), ((2, 2, 3), "points")],
)
def test_each_kind_of_example_has_its_picture(record, shape, kind):
    inputs = np.arange(8.0 * 12).reshape(8, *shape) if np.prod(shape) == 12 else None
    one = clusters(replace(record, inputs=inputs))[0].typical[0]
    assert [name for name in ("source", "points", "numbers") if getattr(one, name)] == [kind]


def test_few_numbers_are_written_out(record):
    one = clusters(replace(record, inputs=np.full((8, 2), [-0.12345, 20.0])))[0].typical[0]
    assert one.numbers == "−0.123, 20"  # noqa: RUF001


def test_one_cluster_has_no_border(unknown):
    alone = replace(unknown, labels=np.zeros(8, int), distances=unknown.distances[:, :1])
    (cluster,) = clusters(alone)
    assert cluster.border == ()
    assert [one.margin for one in cluster.typical] == [None] * 4
