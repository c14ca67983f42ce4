from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from localelastic import Examples, Replay, similarity_matrix
from localelastic.change import Changes
from localelastic.errors import MeasurementError
from localelastic.matrix import (
    SimilarityMatrix,
    averaged,
    mean_of,
    of_same_steps,
    without_excluded,
)
from localelastic.models import TwoLayer
from localelastic.similarity import (
    SIMILARITIES,
    CentredKernelized,
    Kernelized,
    NormalizedKernelized,
    Relative,
    SignedRelative,
    asymmetry,
    symmetrised,
)
from localelastic.trajectory import Frozen, Sequential

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


def test_centred_is_the_correlation_of_gradients():
    """Of a linear model without a bias the gradient is the input."""
    points = torch.randn(9, 4, dtype=torch.float64)
    model = torch.nn.Linear(4, 1, bias=False).double()
    found = similarity_matrix(model, Examples.of(points), similarity=CentredKernelized())
    left = points - points.mean(0)
    expected = torch.nn.functional.cosine_similarity(left[:, None], left[None], dim=2)
    np.testing.assert_allclose(found.values, expected, atol=1e-12)


def test_asymmetry():
    assert asymmetry(KERNEL) == 0
    assert asymmetry(np.zeros((2, 2))) == 0
    np.testing.assert_allclose(asymmetry(np.array([[0.0, 3], [1, 0]])), 0.5)


def centred(*passes):
    n = len(passes[0].reasons)
    values, reasons, *_ = averaged(passes, CentredKernelized(), tuple("abcdef"[:n]))
    return values, reasons


KERNEL = np.array([[3.0, 1, 0], [1, 2, 0.5], [0, 0.5, 4]])
ALONE = Changes(-KERNEL, -KERNEL.diagonal(), np.ones(3), (None,) * 3)


def test_centred_leaves_out_of_the_mean_what_it_leaves_out():
    more = np.pad(KERNEL, ((0, 1), (0, 1)), constant_values=50.0)
    marked = Changes(-more, -more.diagonal(), np.ones(4), (None, None, None, "dead"))
    found, reasons = centred(marked)
    np.testing.assert_allclose(found[:3, :3], centred(ALONE)[0])
    assert reasons == (None, None, None, "dead")


def test_centred_over_passes_is_that_of_their_mean():
    """Also where an example has no meaning in one of them."""
    again = KERNEL * [[1.5], [0], [1]]
    second = Changes(-again, -again.diagonal(), np.ones(3), (None, "fitted", None))
    mean = np.stack([1.25 * KERNEL[0], KERNEL[1], KERNEL[2]])
    alone = Changes(-mean, -mean.diagonal(), np.ones(3), (None,) * 3)
    np.testing.assert_allclose(centred(ALONE, second)[0], centred(alone)[0])


@pytest.mark.parametrize("left", [0, 1e-4])
def test_equal_steps_have_nothing_left_when_centred(left):
    """Also where rounding in single precision, or little more, is left."""
    points = torch.ones(6, 4) + left * torch.randn(6, 4)
    with pytest.raises(MeasurementError, match="nothing is left of it"):
        similarity_matrix(
            torch.nn.Linear(4, 1), Examples.of(points), similarity=CentredKernelized()
        )


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


@pytest.mark.parametrize("similarity", SIMILARITIES.values())
@pytest.mark.parametrize("trajectory", [Frozen(), Sequential()])
def test_one_pass_gives_every_similarity(similarity, trajectory):
    torch.manual_seed(0)
    model = TwoLayer((2,), width=30).double()
    points = torch.randn(12, 2, dtype=torch.float64)
    primary, auxiliary = Examples.of(points[:8]), Examples.of(points[8:])
    settings = {"trajectory": trajectory, "strategy": Replay(1e-3)}
    asked = similarity_matrix(model, primary, auxiliary, similarity=similarity, **settings)
    kernel = similarity_matrix(model, primary, auxiliary, similarity=Kernelized(), **settings)
    found = of_same_steps(kernel, similarity)
    np.testing.assert_allclose(found.values, asked.values, rtol=1e-9, atol=1e-12)
    assert (found.ids, found.kept) == (asked.ids, asked.kept)
    assert found.similarity is similarity
    np.testing.assert_array_equal(found.below_floor, asked.below_floor)


def test_what_another_similarity_leaves_out_keeps_its_place():
    kernel = SimilarityMatrix(
        np.array([[2.0, 1, 1], [1, -1.0, 1], [1, 1, 4.0]]),
        ("b", "c", "d"),
        (1, 2, 3),
        (("a", "dead"),),
        Kernelized(),
        "test",
        True,
    )
    found = of_same_steps(kernel, NormalizedKernelized())
    assert (found.ids, found.kept) == (("b", "d"), (1, 3))
    assert [name for name, _ in found.excluded] == ["a", "c"]


def small(values, kept, excluded=(), similarity=Kernelized()):
    ids = tuple("abcd"[i] for i in kept)
    return SimilarityMatrix(
        np.array(values, dtype=float), ids, tuple(kept), tuple(excluded), similarity, "way", True
    )


def test_mean_of_networks_by_hand():
    first = small([[2, 1, 0], [1, 2, 0], [0, 0, 2]], (0, 1, 3), [("c", "dead")])
    second = small([[30, 0, 0], [0, 10, 10], [0, 10, 20]], (0, 2, 3), [("b", "fitted")])
    found = mean_of([first, second])
    assert (found.ids, found.kept) == (("a", "d"), (0, 3))
    # over 2 and over 20, then times their mean, 11
    np.testing.assert_allclose(found.values, 11 * np.array([[1.25, 0], [0, 1.0]]))
    assert sorted(found.excluded) == [("b", "fitted"), ("c", "dead")]
    assert "mean over 2 networks" in found.strategy
    assert mean_of([first]) is first
    # With a third that keeps a, b and d, pairs are averaged over those that keep both.
    third = small([[4, 0, 4], [0, 4, 0], [4, 0, 4]], (0, 1, 3))
    found = mean_of([first, second, third])
    assert (found.ids, found.excluded) == (("a", "b", "d"), (("c", "dead"),))
    expected = [[3.5 / 3, 0.25, 1 / 3], [0.25, 1, 0], [1 / 3, 0, 1]]
    np.testing.assert_allclose(found.values, 26 / 3 * np.array(expected))
    with pytest.raises(MeasurementError, match="most of 2 networks"):
        mean_of([small([[1]], (0,)), small([[1]], (1,))])
