from dataclasses import replace

import numpy as np

from localelastic.report.telling import class_codes, class_order, margin, misplaced, telling


def letters(record, indices):
    return "".join(record.ids[i][5] for i in indices)


def test_margin_by_hand(record):
    assert margin(record).tolist() == [8, 4, 6, 1, 7, 1, 7, 1.5]


def test_ranked_by_hand(record):
    cats, dogs = telling(record, 0), telling(record, 1)
    assert letters(record, cats.typical) == "acbd"
    assert letters(record, cats.border) == "dbca"
    assert letters(record, cats.wrong) == "cb"
    assert letters(record, dogs.typical) == "gefh"
    assert letters(record, dogs.border) == "fheg"
    assert letters(record, dogs.wrong) == "h"


def test_all_are_wrong_in_a_cluster_without_a_class(record):
    assert letters(record, telling(replace(record, matched=(None, "dog")), 0).wrong) == "acbd"


def test_nothing_is_wrong_where_no_class_is_known(unknown):
    assert not misplaced(unknown).any()
    assert class_codes(unknown).tolist() == [0] * 8


def test_one_cluster_has_no_border(record):
    alone = replace(record, labels=np.zeros(8, int), distances=record.distances[:, :1])
    assert np.isinf(margin(alone)).all()


def test_classes_come_in_the_order_of_their_clusters(record):
    assert class_order(replace(record, matched=("dog", None))) == ("dog", "cat")
    assert class_codes(replace(record, matched=("dog", None))).tolist() == [1, 0, 0, 1, 0, 0, 0, 1]
    assert class_order(replace(record, matched=("bird", "dog"))) == ("dog", "cat")
