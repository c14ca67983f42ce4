from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from localelastic.change import Changes
from localelastic.errors import MeasurementError
from localelastic.matrix import averaged, without_excluded
from localelastic.similarity import (
    SIMILARITIES,
    Kernelized,
    NormalizedKernelized,
    Relative,
    SignedRelative,
    symmetrised,
)

CHANGE = Changes(
    change=np.array([[2.0, -1.0], [0.5, 4.0]]),
    self_change=np.array([2.0, 4.0]),
    unit=np.array([-0.5, -2.0]),
    reasons=(None, None),
)


@pytest.mark.parametrize(
    ("similarity", "expected"),
    [
        (Relative(), [[1, 0.5], [0.125, 1]]),
        (SignedRelative(), [[1, -0.5], [0.125, 1]]),
        (Kernelized(), [[4, -2], [0.25, 2]]),
        (NormalizedKernelized(), [[1, -2 / 8**0.5], [0.25 / 8**0.5, 1]]),
    ],
)
def test_by_hand(similarity, expected):
    np.testing.assert_allclose(similarity.of(CHANGE), expected)


@given(arrays(float, (4, 4), elements=st.floats(-1e6, 1e6)))
def test_symmetrised(values):
    found = symmetrised(values)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(np.trace(found), np.trace(values))


def marked(*reasons):
    """Three rows; those with a reason are zero, as a strategy leaves them."""
    change = np.array([[1.0, 2, 3], [4, 5, 6], [7, 8, 10]])
    change[[reason is not None for reason in reasons]] = 0
    return Changes(change, change.diagonal().copy(), -np.ones(3), reasons)


@pytest.mark.parametrize("similarity", SIMILARITIES.values())
def test_marked_rows_leave_no_nan(similarity):
    values, reasons, *_ = averaged([marked(None, "dead", None)], similarity, ("a", "b", "c"))
    matrix = without_excluded(values, reasons, ("a", "b", "c"), similarity, "test", True)
    assert matrix.excluded == (("b", "dead"),)
    assert (matrix.ids, matrix.kept) == (("a", "c"), (0, 2))
    assert np.isfinite(matrix.values).all()
    assert matrix.values.shape == (2, 2)


def test_a_row_is_averaged_over_the_passes_that_gave_it_a_meaning():
    passes = [marked(None, "dead", None), marked(None, None, "dead"), marked(None, None, None)]
    values, reasons, *_ = averaged(passes, Kernelized(), ("a", "b", "c"))
    np.testing.assert_array_equal(values, [[1, 2, 3], [4, 5, 6], [7, 8, 10]])
    assert reasons == (None, None, None)


def test_an_overshooting_step_has_no_normalised_similarity():
    change = Changes(
        np.array([[1.0, 2], [3, -4]]), np.array([1.0, -4.0]), -np.ones(2), (None, None)
    )
    values, reasons, *_ = averaged([change], NormalizedKernelized(), ("a", "b"))
    assert reasons[0] is None
    assert "overshot" in reasons[1]
    assert np.isfinite(values).all()


def test_nothing_left_is_an_error():
    with pytest.raises(MeasurementError, match=r"none of the 3 steps.*dead"):
        averaged([marked("dead", "dead", "dead")], Kernelized(), ("a", "b", "c"))
