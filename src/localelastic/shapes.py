"""Axis vocabulary and array aliases; the only names used in signatures.

Axes: ``n`` primary examples, ``m`` probes, ``t`` steps, ``d`` features, ``h`` hidden units,
``c`` outputs, ``k`` clusters, ``q`` coordinates on a curve or surface. ``*shape`` is the shape of
one input.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int
from torch import Tensor

Inputs = Float[Tensor, "n *shape"]
"""A batch of examples as a network takes them."""

PerExample = Float[Tensor, "n"]
"""One number per example: outputs, targets, losses."""

Square = Float[np.ndarray, "n n"]
"""Rows: the example stepped on. Columns: the probed one."""

Rows = Float[np.ndarray, "n m"]
"""One row per step, one column per probe."""

Vector = Float[np.ndarray, "n"]
"""One number per row."""

Labels = Int[np.ndarray, "n"]
"""The cluster of each example, 0 .. k-1."""

Mask = Bool[np.ndarray, "n"]
"""Which examples or rows are meant."""

Coordinates = Float[np.ndarray, "n q"]
"""Where each point lies on its curve (one number) or surface (two)."""

Points = Float[np.ndarray, "n d"]
"""Where each point lies in the space of the inputs."""

Progress = Callable[[str, int, int], None]
"""``progress(stage, done, total)``, called as long work goes on."""


def silent(stage: str, done: int, total: int) -> None:
    """The progress that tells nobody."""
