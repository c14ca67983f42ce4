"""Numbers as they come in, made tensors; and the kinds of tensors that cannot be measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from localelastic.errors import DataError


def as_tensor(values: Any, what: str) -> Tensor:
    """A tensor of what holds numbers; a tensor stays as it is.

    Args:
        values: a tensor, an array, numbers in nested lists, or a list of tensors of one shape.
        what: ``"inputs"`` or ``"targets"``, for the error.

    Raises:
        DataError: no numbers, or lists of several lengths.
    """
    if isinstance(values, Tensor):
        return values
    try:
        if isinstance(values, list | tuple) and values and isinstance(values[0], Tensor):
            return torch.stack(list(values))
        if isinstance(values, list | tuple) and values and isinstance(values[0], np.ndarray):
            values = np.array(values)
        if isinstance(values, np.ndarray):  # PyTorch takes none that runs backwards
            values = np.ascontiguousarray(values) if values.ndim else values
        return torch.as_tensor(values)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        names = "; names of classes go into classes=, numbers for them into targets="
        raise DataError(
            f"expected {what} as numbers, in a tensor, an array or lists of one length, got "
            f"{_kind(values)} ({' '.join(str(error).split())[:100]})"
            + (names if what == "targets" else "; pad them or turn them into numbers")
        ) from error


def expect_plain(values: Tensor, what: str) -> None:
    """Refuse tensors whose rows cannot be taken, or that hold no numbers.

    Raises:
        DataError: sparse, nested, quantized, or without memory (the device ``meta``).
    """
    kind, way = "", ".to_dense()"
    if values.is_nested:
        kind, way = "a nested one", "torch.nested.to_padded_tensor"
    elif values.layout is not torch.strided:
        kind = f"one of layout {str(values.layout).removeprefix('torch.')}"
    elif values.is_meta:
        kind, way = "one without numbers (device meta)", "a tensor that has memory"
    elif values.is_quantized:
        kind, way = f"a quantized one ({values.dtype})", ".dequantize()"
    if kind:
        raise DataError(f"expected {what} as a plain tensor, got {kind}; pass {way}")


def _kind(values: Any) -> str:
    if isinstance(values, np.ndarray):
        return f"an array of {values.dtype.name}"
    if isinstance(values, list | tuple) and values:
        return f"a {type(values).__name__} of {type(values[0]).__name__}"
    return f"a {type(values).__name__}"
