"""From stored numbers to the floating-point inputs of a network; nothing is altered unsaid."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import torch
from jaxtyping import Shaped, UInt8
from torch import Tensor

from localelastic.errors import DataError
from localelastic.shapes import Inputs


class Pixels(Enum):
    """How images of bytes (``uint8``) become floating point. Other numbers are never rescaled."""

    SIGNED = "[-1, 1]"
    """``(x / 255 - 0.5) / 0.5``, the paper's."""

    UNIT = "[0, 1]"
    """``x / 255``."""

    RAW = "[0, 255]"
    """``x``."""

    def scale(self, pixels: UInt8[Tensor, "n *shape"]) -> Inputs:
        """The pixels on this scale, in the default floating-point type.

        Example:
            >>> Pixels.SIGNED.scale(torch.tensor([0, 255], dtype=torch.uint8)).tolist()
            [-1.0, 1.0]
        """
        values = pixels.to(torch.get_default_dtype())
        match self:
            case Pixels.SIGNED:
                return values.div_(255).sub_(0.5).div_(0.5)
            case Pixels.UNIT:
                return values.div_(255)
            case Pixels.RAW:
                return values


@dataclass(frozen=True, eq=False)
class Prepared:
    """Inputs ready for a network, and in words what was done to get them."""

    inputs: Inputs
    how: str


def prepare(array: Shaped[np.ndarray, "*any"], *, pixels: Pixels) -> Prepared:
    """The array in the default floating-point type, images channel-first, bytes as ``pixels`` say.

    Args:
        array: ``(n, *shape)`` numbers. ``(n, h, w, c)`` with c 1 or 3 becomes ``(n, c, h, w)``;
            ``(n, h, w)`` of bytes becomes ``(n, 1, h, w)``.
        pixels: the scale that bytes are brought to.

    Returns:
        The inputs, and what was done to them.

    Raises:
        DataError: what is stored is not numbers, or too large for the default type.
    """
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(f"expected inputs that are numbers, got the type {array.dtype}")
    if array.ndim == 0 or array.size == 0:
        raise DataError(f"expected at least one example, got an array of shape {array.shape}")
    arranged, moved = _channels_first(array)
    native = np.require(arranged, arranged.dtype.newbyteorder("="), ("C", "W"))
    stored = torch.from_numpy(native)
    if stored.dtype == torch.uint8:
        return Prepared(pixels.scale(stored), f"pixels scaled to {pixels.value}{moved}")
    values = _converted(stored)
    same = "left as they are" if values.dtype == stored.dtype else f"converted to {_name(values)}"
    return Prepared(values, f"{_name(stored)} values {same}{moved}")


def _channels_first(array: np.ndarray) -> tuple[np.ndarray, str]:
    channels = (1, 3)
    if array.ndim == 4 and array.shape[3] in channels and array.shape[1] not in channels:
        return array.transpose(0, 3, 1, 2), ", channels moved first"
    if array.ndim == 3 and array.dtype == np.uint8:
        return array[:, None], ""
    return array, ""


def _converted(stored: Tensor) -> Tensor:
    values = stored.to(torch.get_default_dtype())
    lost = torch.isfinite(stored) & ~torch.isfinite(values)
    if lost.any():
        largest = stored.double().abs()[lost].max().item()
        raise DataError(
            f"expected numbers that fit {_name(values)}, got {largest:g}; "
            "rescale the inputs, or choose a wider torch default dtype"
        )
    return values


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
