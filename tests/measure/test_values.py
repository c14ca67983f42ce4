"""What examples are made of: numbers in any usual form, and the rest refused in words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from localelastic import DataError, Examples
from worlds import points

X = points(8, (4,)).float()
U = torch.ones(8)
MIXED = np.array([1, "a"] * 4, dtype=object)


@pytest.mark.parametrize(
    ("targets", "said"),
    [
        (list("abcdefgh"), "targets as numbers.*got a list of str.*classes="),
        ({"a": U}, "targets as numbers.*got a dict"),
        ([[1, 2], [1]] * 4, "lists of one length, got a list of list"),
        ([torch.ones(2), torch.ones(3)] * 4, "lists of one length, got a list of Tensor"),
        ([None] * 8, "got a list of NoneType"),
        (MIXED, "got an array of object"),
        (np.ones(8, dtype="datetime64[s]"), "got an array of datetime64"),
        (U.to_sparse(), r"targets as a plain tensor, got one of layout sparse_coo; pass .to_dense"),
        (U.to("meta"), "got one without numbers"),
    ],
)
def test_targets_that_are_no_numbers(targets, said):
    with pytest.raises(DataError, match=said):
        Examples.of(X, targets=targets)


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ([[1.0, 2.0], [1.0]], "inputs as numbers.*got a list of list"),
        (MIXED, "inputs as numbers.*got an array of object"),
        ({"a": MIXED}, "inputs as numbers.*got an array of object"),
        ((MIXED,), "inputs as numbers.*got an array of object"),
        (np.array(["a", "b"]), "inputs as numbers.*got an array of str"),
        (X.to_sparse(), "inputs as a plain tensor, got one of layout sparse_coo"),
        ({"a": X.to_sparse()}, "inputs as a plain tensor, got one of layout sparse_coo"),
        (X.to("meta"), "got one without numbers"),
    ],
)
def test_inputs_that_are_no_numbers(inputs, said):
    with pytest.raises(DataError, match=said):
        Examples.of(inputs)


def test_usual_forms_are_taken():
    numbers = np.arange(8.0).reshape(4, 2)
    backwards = Examples.of(numbers[::-1], targets=numbers[::-1, 0])
    assert backwards.inputs[:, 0].tolist() == backwards.targets.tolist() == [6, 4, 2, 0]
    several = Examples.of((numbers, numbers[:, :1]), targets=[torch.ones(3)] * 4)
    assert several.targets.shape == (4, 3)
    assert several.inputs[1].flatten().tolist() == [0, 2, 4, 6]
    assert Examples.of(numbers, targets=[np.ones(3)] * 4).targets.shape == (4, 3)
