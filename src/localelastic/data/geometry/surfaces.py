"""Surfaces on which the shortest path is known in closed form."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, pi
from typing import ClassVar, final

import numpy as np
from scipy.spatial.distance import cdist

from localelastic.data.geometry.geometry import Geometry, Side, wrapped
from localelastic.shapes import Coordinates, Points, Square


@final
@dataclass(frozen=True)
class FoldedBoxes(Geometry):
    """Two boxes open above and below, one inside the other: ``|y| + 1.2 |x| = c``, ``|z| < 1``.

    ``c = 12 + e`` is 13 for primary and 11 for auxiliary points. The four flat walls fold at
    ``(0, +-c)`` and ``(+-c / 1.2, 0)``. Unrolled they are a strip whose ends meet, ``4 L`` long for
    walls of ``L = sqrt(c^2 + (c / 1.2)^2)``, and a shortest path is a straight line on it:
    ``sqrt(ds^2 + dz^2)``, ``ds`` the short way round. Coordinates are ``s``, the way along the
    walls from ``(c / 1.2, 0)`` through ``(0, c)``, and ``z``.
    """

    name: ClassVar[str] = "folded-boxes"

    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The way round the four walls, and the height."""
        return (0.0, 4 * _wall(side)), (-1.0, 1.0)

    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """In three dimensions."""
        walls = coordinates[:, 0] / _wall(side) % 4
        upper = walls < 2
        x = _half_width(side) * np.where(upper, 1 - walls, walls - 3)
        y = np.where(upper, 1, -1) * (_height(side) - _SLOPE * np.abs(x))
        return np.stack([x, y, coordinates[:, 1]], axis=1)

    def geodesic(self, coordinates: Coordinates, *, side: Side) -> Square:
        """The straight line on the unrolled walls, whichever way round is shorter."""
        s, z = coordinates.T
        return np.hypot(wrapped(s, around=4 * _wall(side)), z[:, None] - z[None, :])

    def spread(self, uniform: Coordinates, *, side: Side) -> Coordinates:
        """Every other point on the upper half (``y > 0``) and the rest on the lower."""
        along = (np.arange(len(uniform)) % 2 + uniform[:, 0]) / 2
        return super().spread(np.stack([along, uniform[:, 1]], axis=1), side=side)


@final
@dataclass(frozen=True)
class Spheres(Geometry):
    """Two spheres about one centre, of radius 10 (primary) and 20.

    ``R (sin a cos b, sin a sin b, cos a)``; a shortest path is an arc of a great circle.

    Args:
        uniform_angles: draw the angles ``a`` in (0, pi) and ``b`` in (-pi, pi) uniformly, as the
            published figure does, which crowds points at the poles; else uniformly by area.
    """

    uniform_angles: bool = False
    name: ClassVar[str] = "spheres"

    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The angle from the pole, and the one about the axis."""
        return (0.0, pi), (-pi, pi)

    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """In three dimensions."""
        return _RADIUS[side] * _directions(coordinates)

    def geodesic(self, coordinates: Coordinates, *, side: Side) -> Square:
        """``2 R atan2(|u - v|, |u + v|)`` of unit vectors: exact for near and for opposite ones."""
        u = _directions(coordinates)
        return 2 * _RADIUS[side] * np.arctan2(cdist(u, u), cdist(u, -u))

    def spread(self, uniform: Coordinates, *, side: Side) -> Coordinates:
        """Uniform by area, or in the angles."""
        angles = super().spread(uniform, side=side)
        if not self.uniform_angles:
            angles[:, 0] = np.arccos(1 - 2 * uniform[:, 0])
        return angles


_SLOPE = 1.2
_RADIUS = {Side.PRIMARY: 10.0, Side.AUXILIARY: 20.0}


def _height(side: Side) -> float:
    return 12.0 + side


def _half_width(side: Side) -> float:
    return _height(side) / _SLOPE


def _wall(side: Side) -> float:
    return hypot(_height(side), _half_width(side))


def _directions(angles: Coordinates) -> Points:
    a, b = angles.T
    return np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=1)
