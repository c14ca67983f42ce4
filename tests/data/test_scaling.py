import numpy as np
import pytest
import torch

from localelastic.data import Pixels
from localelastic.data.scaling import prepare
from localelastic.errors import DataError


@pytest.mark.parametrize(
    ("pixels", "expected"),
    [
        (Pixels.SIGNED, [-1, -0.6, 1]),
        (Pixels.UNIT, [0, 0.2, 1]),
        (Pixels.RAW, [0, 51, 255]),
    ],
)
def test_bytes_are_scaled(pixels, expected):
    prepared = prepare(np.array([[0, 51, 255]], dtype=np.uint8), pixels=pixels)
    assert prepared.inputs.tolist()[0] == pytest.approx(expected, abs=1e-6)
    assert prepared.how == f"pixels scaled to {pixels.value}"


def test_signed_is_the_formula_of_the_paper_to_the_last_bit():
    every = np.arange(256, dtype=np.uint8)[None]
    expected = (torch.arange(256.0) / 255 - 0.5) / 0.5
    assert torch.equal(prepare(every, pixels=Pixels.SIGNED).inputs[0], expected)


@pytest.mark.parametrize(
    ("dtype", "how"),
    [
        ("float32", "float32 values left as they are"),
        ("float64", "float64 values converted to float32"),
        ("float16", "float16 values converted to float32"),
        (">f4", "float32 values left as they are"),
        ("uint16", "uint16 values converted to float32"),
        (">i2", "int16 values converted to float32"),
        ("int64", "int64 values converted to float32"),
        ("bool", "bool values converted to float32"),
    ],
)
def test_other_numbers_are_never_rescaled(dtype, how):
    prepared = prepare(np.array([[0, 1]]).astype(dtype), pixels=Pixels.SIGNED)
    assert prepared.inputs.tolist() == [[0, 1]]
    assert (prepared.inputs.dtype, prepared.how) == (torch.float32, how)


def test_the_default_type_is_followed():
    torch.set_default_dtype(torch.float64)
    try:
        third = prepare(np.array([[1 / 3]]), pixels=Pixels.SIGNED)
        white = prepare(np.array([[255]], np.uint8), pixels=Pixels.SIGNED)
    finally:
        torch.set_default_dtype(torch.float32)
    assert third.inputs.item() == 1 / 3
    assert third.how == "float64 values left as they are"
    assert white.inputs.dtype == torch.float64


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((2, 4, 5, 3), (2, 3, 4, 5)),
        ((2, 4, 5, 1), (2, 1, 4, 5)),
        ((2, 3, 4, 5), (2, 3, 4, 5)),
        ((2, 1, 4, 3), (2, 1, 4, 3)),
        ((2, 4, 5), (2, 1, 4, 5)),
        ((2, 5), (2, 5)),
    ],
)
def test_images_become_channel_first(before, after):
    array = np.arange(np.prod(before), dtype=np.uint8).reshape(before)
    prepared = prepare(array, pixels=Pixels.RAW)
    assert prepared.inputs.shape == after
    assert ("channels moved first" in prepared.how) == (len(before) == 4 and before[1] == 4)
    if len(before) == 4 and before[1] == 4:
        assert prepared.inputs[1, 0, 2, 3] == array[1, 2, 3, 0]


def test_a_sequence_of_floats_is_no_image():
    assert prepare(np.zeros((2, 4, 5)), pixels=Pixels.SIGNED).inputs.shape == (2, 4, 5)


def test_the_array_itself_is_not_written_to():
    array = np.full((1, 2), 255, np.uint8)
    array.flags.writeable = False
    prepare(array, pixels=Pixels.SIGNED).inputs.zero_()
    assert array.tolist() == [[255, 255]]


@pytest.mark.parametrize(
    ("array", "words"),
    [
        (np.array([["a"]]), "numbers, got the type <U1"),
        (np.array([[1j]]), "numbers, got the type complex128"),
        (np.zeros((0, 3)), r"at least one example.*\(0, 3\)"),
        (np.array(1.0), "at least one example"),
        (np.array([[1e300, 0]]), r"fit float32, got 1e\+300"),
    ],
)
def test_refused(array, words):
    with pytest.raises(DataError, match=words):
        prepare(array, pixels=Pixels.SIGNED)


def test_infinity_in_the_data_is_left_for_examples_to_name():
    assert prepare(np.array([[np.inf]]), pixels=Pixels.SIGNED).inputs.isinf().all()
