import hashlib
from collections import Counter

import numpy as np
import pytest
import torch

from localelastic.data import load_mnist
from localelastic.data.mnist import MNIST_FILE, MNIST_SHA256


@pytest.fixture(scope="module")
def digits():
    return load_mnist()


def test_the_shipped_file_is_the_one_that_was_packed():
    assert hashlib.sha256(MNIST_FILE.read_bytes()).hexdigest() == MNIST_SHA256
    assert MNIST_FILE.stat().st_size < 2_500_000


def test_its_licence_lies_beside():
    note = MNIST_FILE.with_name("MNIST.md").read_text("utf-8")
    assert all(word in note for word in ("LeCun", "Cortes", "Burges", "ShareAlike 3.0"))


def test_digits(digits):
    assert digits.shape == (1, 28, 28)
    assert digits.inputs.dtype == torch.float32
    assert Counter(digits.classes) == {str(digit): 1500 for digit in range(10)}
    assert (digits.inputs.min(), digits.inputs.max()) == (-1, 1)
    assert digits.source == (
        "MNIST, first 1,500 training images of each digit; pixels scaled to [-1, 1]"
    )
    assert digits.duplicates() == ()


def test_training_order(digits):
    """The start of MNIST is known: 5 0 4 1 9 2 1 3 1 4; image 0 has mean grey 35.1084."""
    assert digits.classes[:10] == tuple("5041921314")
    assert digits.ids[:2] == ("train-00000", "train-00001")
    assert list(digits.ids) == sorted(digits.ids)
    first = (digits.inputs[0].double() * 0.5 + 0.5) * 255
    assert np.isclose(first.mean().item(), 35.1084, atol=1e-3)
