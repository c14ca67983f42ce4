"""Closed and open curves, measured along their length."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import pi
from typing import ClassVar, final

import numpy as np
from scipy.integrate import fixed_quad
from scipy.special import ellipeinc

from localelastic.data.geometry.geometry import Geometry, Side, wrapped
from localelastic.shapes import Coordinates, Points, Square, Vector


class Curve(Geometry):
    """A curve on each side, given by one parameter ``t``."""

    closed: ClassVar[bool]
    """Whether the two ends of the domain are one point."""

    @abstractmethod
    def arc_length(self, t: Vector, *, side: Side) -> Vector:
        """The length of the curve from parameter 0 to ``t``; negative for negative ``t``."""

    def length(self, side: Side) -> float:
        """The length of the whole curve."""
        start, end = self.arc_length(np.array(self.domain(side)[0]), side=side)
        return float(end - start)

    def geodesic(self, coordinates: Coordinates, *, side: Side) -> Square:
        """The length of the curve between two points, the short way round where it is closed."""
        places = self.arc_length(coordinates[:, 0], side=side)
        return wrapped(places, around=self.length(side)) if self.closed else _gaps(places)


@final
@dataclass(frozen=True)
class Torus(Curve):
    """Two closed curves that wind four times round a torus, each in the gaps of the other.

    ``((8 + e sin 4t) cos t, (8 + e sin 4t) sin t, e cos 4t)``, ``t`` in (-pi, pi). A step ``dt``
    has the length ``sqrt((8 + e sin 4t)^2 + 16) dt``, between ``8.06 dt`` and ``9.85 dt``. Its
    integral has no closed form and is summed by Gauss-Legendre quadrature, exact to rounding.
    """

    name: ClassVar[str] = "torus"
    closed: ClassVar[bool] = True
    proxy: ClassVar[str] = "difference of the angle t, the short way round, in radians"

    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The angle about the axis of the torus."""
        return ((-pi, pi),)

    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """In three dimensions."""
        t = coordinates[:, 0]
        radius = 8 + side * np.sin(4 * t)
        return np.stack([radius * np.cos(t), radius * np.sin(t), side * np.cos(4 * t)], axis=1)

    def arc_length(self, t: Vector, *, side: Side) -> Vector:
        """By quadrature."""
        at = t[:, None]
        parts, _ = fixed_quad(lambda u: np.hypot(8 + side * np.sin(4 * at * u), 4), 0, 1, n=_NODES)
        return t * parts

    def published(self, coordinates: Coordinates, *, side: Side) -> Square:
        """``|t - t'|``, the short way round."""
        return wrapped(coordinates[:, 0], around=2 * pi)


@final
@dataclass(frozen=True)
class Cosines(Curve):
    """A wave over another: ``(x, cos x + 0.2 e)``, ``|x| < 0.6 pi``.

    The length from 0 to ``x`` is the integral of ``sqrt(1 + sin^2 x)``, the elliptic integral
    ``E(x | -1)``.
    """

    name: ClassVar[str] = "cosines"
    closed: ClassVar[bool] = False
    proxy: ClassVar[str] = "difference |x - x'| of the first coordinate"

    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The first coordinate."""
        return ((-0.6 * pi, 0.6 * pi),)

    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """In the plane."""
        x = coordinates[:, 0]
        return np.stack([x, np.cos(x) + 0.2 * side], axis=1)

    def arc_length(self, t: Vector, *, side: Side) -> Vector:
        """``E(x | -1)``."""
        return ellipeinc(t, -1.0)

    def published(self, coordinates: Coordinates, *, side: Side) -> Square:
        """``|x - x'|``."""
        return _gaps(coordinates[:, 0])


@final
@dataclass(frozen=True)
class DoubleHelix(Curve):
    """Two strands: ``(e cos 1.5t, e sin 1.5t, t)``, ``|t| < pi / 2``.

    The length is ``sqrt(3.25) |t - t'|``, so that the published ``|t - t'|`` is proportional to it.
    """

    name: ClassVar[str] = "double-helix"
    closed: ClassVar[bool] = False
    proxy: ClassVar[str] = "difference |t - t'| of the height"

    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The height."""
        return ((-pi / 2, pi / 2),)

    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """In three dimensions."""
        t = coordinates[:, 0]
        return np.stack([side * np.cos(1.5 * t), side * np.sin(1.5 * t), t], axis=1)

    def arc_length(self, t: Vector, *, side: Side) -> Vector:
        """``sqrt(1.5^2 + 1) t``."""
        return np.sqrt(3.25) * t

    def published(self, coordinates: Coordinates, *, side: Side) -> Square:
        """``|t - t'|``."""
        return _gaps(coordinates[:, 0])


@final
@dataclass(frozen=True)
class Cycles(Curve):
    """Two circles about one centre: ``(R cos t, R sin t)``, ``R`` 10 (primary) and 50.

    The length is ``R |t - t'|``, the short way round, so that the published angle is proportional
    to it.
    """

    name: ClassVar[str] = "cycles"
    closed: ClassVar[bool] = True
    proxy: ClassVar[str] = "difference of the angle t, the short way round, in radians"

    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The angle."""
        return ((-pi, pi),)

    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """In the plane."""
        t = coordinates[:, 0]
        return _RADIUS[side] * np.stack([np.cos(t), np.sin(t)], axis=1)

    def arc_length(self, t: Vector, *, side: Side) -> Vector:
        """``R t``."""
        return _RADIUS[side] * t

    def published(self, coordinates: Coordinates, *, side: Side) -> Square:
        """``|t - t'|``, the short way round."""
        return wrapped(coordinates[:, 0], around=2 * pi)


_NODES = 64
"""Of the quadrature over up to a whole winding of the torus; 48 are enough for double precision."""

_RADIUS = {Side.PRIMARY: 10.0, Side.AUXILIARY: 50.0}


def _gaps(places: Vector) -> Square:
    return np.abs(places[:, None] - places[None, :])
