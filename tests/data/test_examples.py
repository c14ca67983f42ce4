import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from localelastic.data import Examples
from localelastic.errors import DataError

THREE = Examples.of(
    np.arange(6.0).reshape(3, 2),
    ids=["a", "b", "c"],
    classes=[8, 5, 8],
    targets=[1.0, -1.0, 1.0],
    source="here",
    coarse=["x", "y", "x"],
)


def test_of_counts_ids_and_makes_numbers_floating_point():
    examples = Examples.of([[1], [2]])
    assert examples.ids == ("0", "1")
    assert examples.inputs.dtype == torch.get_default_dtype()
    assert examples.classes is examples.coarse is examples.targets is None


def test_whole_numbers_in_a_tensor_are_tokens_and_stay_exact():
    tokens = torch.tensor([[2**24 + 1], [3]])
    assert torch.equal(Examples.of(tokens).inputs, tokens)
    assert Examples.of(tokens).inputs.dtype == torch.int64


def test_of_leaves_floats_alone():
    inputs = np.array([[1 / 3]])
    assert Examples.of(inputs).inputs.numpy() == inputs
    assert Examples.of(inputs).inputs.dtype == torch.float64


def test_facts():
    assert len(THREE) == 3
    assert THREE.shape == (2,)
    assert THREE.class_names == ("5", "8")
    assert repr(THREE) == "Examples(3 of shape (2,), classes: 5, 8)"
    assert Examples.of([[0.0]]).class_names == ()
    assert "classes: unknown" in repr(Examples.of([[0.0]]))


def test_class_names_are_in_numeric_then_alphabetical_order():
    classes = ["nan", "cat", "10", "9", "-1", "ant"]
    examples = Examples.of(torch.zeros(6, 1), classes=classes)
    assert examples.class_names == ("-1", "9", "10", "ant", "cat", "nan")


def test_take_keeps_every_column_in_step():
    taken = THREE.take(np.array([2, 0]))
    assert taken.inputs.tolist() == [[4, 5], [0, 1]]
    assert (taken.ids, taken.classes, taken.coarse) == (("c", "a"), ("8", "8"), ("x", "x"))
    assert taken.targets.tolist() == [1, 1]
    assert taken.source == "here"


def test_take_refuses_a_mask():
    with pytest.raises(TypeError):
        THREE.take(np.array([True, False, True]))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=9))
def test_duplicates_group_equal_inputs(values):
    examples = Examples.of(torch.tensor(values)[:, None].expand(-1, 3))
    expected = [
        tuple(str(i) for i, other in enumerate(values) if other == value)
        for value in dict.fromkeys(values)
        if values.count(value) > 1
    ]
    assert list(examples.duplicates()) == expected


def test_duplicates_are_told_from_near_ones():
    one = torch.ones(2, 1)
    assert Examples.of(one).duplicates() == (("0", "1"),)
    one[1] = torch.nextafter(one[1], torch.tensor(2.0))
    assert Examples.of(one).duplicates() == ()


def test_complex_numbers_keep_their_imaginary_part():
    assert Examples.of(np.array([[1j]])).inputs.item() == 1j


def test_a_target_that_is_not_finite_is_kept():
    assert Examples.of([[0.0]], targets=[float("nan")]).targets.isnan().all()


@pytest.mark.parametrize(
    ("inputs", "columns", "words"),
    [
        (torch.zeros(0, 2), {}, "at least one example"),
        (torch.zeros(2, 0), {}, r"\(2, 0\)"),
        (torch.zeros(2, 1), {"ids": ["a"]}, "2 ids.*got 1"),
        (torch.zeros(2, 1), {"classes": ["a"] * 3}, "2 classes.*got 3"),
        (torch.zeros(2, 1), {"coarse": ["a"]}, "2 coarse.*got 1"),
        (torch.zeros(3, 1), {"ids": ["a", "b", "b"]}, "'b' more than once"),
        (torch.tensor([[0.0], [torch.nan]]), {"ids": ["a", "b"]}, "1 of 2 .*first: b"),
        (torch.tensor([0.0, torch.inf]), {}, "1 of 2 .*first: 1"),
    ],
)
def test_refused(inputs, columns, words):
    with pytest.raises(DataError, match=words):
        Examples.of(inputs, **columns)
