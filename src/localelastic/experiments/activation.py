"""Which hidden units are on, and what follows from that alone for a two-layer ReLU network."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from localelastic.analysis import activation_cosine
from localelastic.errors import ModelError
from localelastic.experiments.geometry_subject import GeometryScale, fit
from localelastic.models import PUBLISHED_WIDTHS
from localelastic.shapes import Inputs, Points, Square

Patterns = Float[np.ndarray, "n h"]
"""1 where a hidden unit is on at an example, else 0."""


def patterns(model: nn.Module, inputs: Inputs) -> Patterns:
    """Where ``w_r x + b_r > 0`` in the hidden layer of a two-layer network.

    The activation itself is not looked at: of a linear or sigmoid network these are the signs of
    what its units see.

    Args:
        model: with a dense layer ``hidden``.
        inputs: ``(n, *shape)``.

    Raises:
        ModelError: a network without such a layer.
    """
    hidden = getattr(model, "hidden", None)
    if not isinstance(hidden, nn.Linear):
        raise ModelError(
            f"expected a network with one dense hidden layer, got a {type(model).__name__}; "
            "patterns are those of two-layer networks"
        )
    with torch.no_grad():
        seen: Tensor = hidden(inputs.flatten(1).to(hidden.weight))
    return (seen > 0).to(torch.float64).cpu().numpy()


def normal_patterns(points: Points, *, width: int, seed: int) -> Patterns:
    """Of hidden units whose weights and biases are independent standard normal numbers.

    Args:
        points: ``(n, d)``.
        width: hidden units.
        seed: of the draw.
    """
    weights = np.random.default_rng([seed, width]).standard_normal((points.shape[1] + 1, width))
    return (with_one(points) @ weights > 0).astype(float)


def cosine_of_wide(points: Points) -> Square:
    """What ``activation_cosine`` of normal units tends to as the width grows: ``1 - angle / pi``.

    Half of the units are on at any point, and both points are on one side of a random hyperplane
    with probability ``1 - angle / pi``: the arc-cosine kernel of degree 0. The angle is between
    ``(x, 1)`` and ``(x', 1)``, the 1 for the bias.

    Args:
        points: ``(n, d)``.

    Example:
        On a line at 1 and -1 the angle is 90 degrees:

        >>> cosine_of_wide(np.array([[1.0], [-1.0]])).round(6).tolist()
        [[1.0, 0.5], [0.5, 1.0]]
    """
    with_bias = with_one(points)
    unit = with_bias / np.linalg.norm(with_bias, axis=1, keepdims=True)
    # By the chord: the arc cosine loses half of the digits near angle 0.
    chord = np.linalg.norm(unit[:, None] - unit[None, :], axis=2)
    return 1 - 2 * np.arcsin(np.clip(chord / 2, 0, 1)) / np.pi


def equation_4(points: Points, active: Patterns) -> Square:
    """The ratio of changes of a network whose hidden weights alone are trained (equation 4).

    ``(x x' + 1) #(on at x and x') / ((|x|^2 + 1) #(on at x))``, signed, rows the example stepped
    on.

    Args:
        points: ``(n, d)``.
        active: which units are on before the step.

    Raises:
        DataError: an example with no unit on: a step on it moves nothing.

    Example:
        >>> equation_4(np.array([[1.0], [2.0]]), np.array([[1.0, 1.0], [1.0, 0.0]])).tolist()
        [[1.0, 0.75], [0.6, 1.0]]
    """
    activation_cosine(active)  # refuses patterns of which one is empty
    both, inner = active @ active.T, points @ points.T + 1
    return (inner * both) / (inner * both).diagonal()[:, None]


def with_one(points: Points) -> Float[np.ndarray, "n d+1"]:
    """``(x, 1)``: the bias as a weight of a constant input."""
    return np.concatenate([points, np.ones((len(points), 1))], axis=1)


@dataclass(frozen=True)
class Growth:
    """Untrained patterns of growing width, on the points of one seed."""

    widths: tuple[int, ...]
    seed: int


def growth(cell: Growth) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The largest difference from the closed form: normal units, and units as PyTorch draws them.

    Returns:
        For each of the two, one value per width.
    """
    normal, drawn = [], []
    for width in cell.widths:
        scale = GeometryScale(width / PUBLISHED_WIDTHS["two-layer"], 0)
        fitted = fit("torus", "two-layer", scale, seed=cell.seed, stable=False)
        sample = fitted.sample.primary
        wide = cosine_of_wide(sample.points)
        ours = activation_cosine(normal_patterns(sample.points, width=width, seed=cell.seed))
        theirs = activation_cosine(patterns(fitted.model, sample.examples.inputs))
        normal.append(float(np.abs(ours - wide).max()))
        drawn.append(float(np.abs(theirs - wide).max()))
    return tuple(normal), tuple(drawn)
