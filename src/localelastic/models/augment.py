"""Images as they might have been taken: moved by a few pixels, mirrored."""

from __future__ import annotations

import torch
from torch import Generator
from torch.nn import functional

from localelastic.shapes import Inputs


def varied(images: Inputs, *, shift: int, flip: bool, generator: Generator) -> Inputs:
    """Each image moved by its own number of pixels on both axes, and mirrored or not.

    What comes in at a border mirrors what is beside it. All moves are equally likely; every other
    image is mirrored left to right.

    Args:
        images: ``(n, channels, height, width)``.
        shift: pixels at most, less than height and width.
        flip: whether images are mirrored.
        generator: of the moves.
    """
    n, _, height, width = images.shape
    padded = functional.pad(images, (shift,) * 4, mode="reflect") if shift else images
    down, right = torch.randint(0, 2 * shift + 1, (2, n, 1), generator=generator)
    rows, columns = torch.arange(height) + down, torch.arange(width) + right
    if flip:
        mirrored = torch.rand(n, generator=generator) < 0.5
        columns[mirrored] = columns[mirrored].flip(1)
    rows, columns = rows.to(images.device), columns.to(images.device)
    each = torch.arange(n, device=images.device)
    return padded[each[:, None, None], :, rows[:, :, None], columns[:, None, :]].movedim(-1, 1)
