import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from localelastic.plots import grouped


def test_group_then_inner_group_then_nearest():
    order = grouped(
        np.array([1, 0, 1, 0, 1]),
        within=np.array([0, 1, 1, 0, 0]),
        distance=np.array([0.9, 0.1, 0.2, 0.5, 0.3]),
    )
    assert order.indices.tolist() == [3, 1, 4, 0, 2]
    assert order.groups == (0, 1)
    assert order.stops == (2, 5)
    assert order.spans == ((0, 0, 2), (1, 2, 5))


def test_groups_without_members_are_left_out():
    order = grouped(np.array([4, 1]), within=np.zeros(2, int), distance=np.zeros(2))
    assert order.spans == ((1, 0, 1), (4, 1, 2))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.floats(0, 1)), min_size=1))
def test_spans_cut_a_permutation_into_its_groups(rows):
    groups, within, distance = (np.array(column) for column in zip(*rows, strict=True))
    order = grouped(groups, within=within, distance=distance)
    assert sorted(order.indices.tolist()) == list(range(len(rows)))
    for group, start, stop in order.spans:
        assert (groups[order.indices[start:stop]] == group).all()
    assert order.stops[-1] == len(rows)
