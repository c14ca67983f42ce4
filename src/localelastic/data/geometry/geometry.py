"""What every curve and surface shares: points drawn on it, and the distances between them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from operator import index
from typing import ClassVar, SupportsIndex

import numpy as np
import torch

from localelastic.data.examples import Examples
from localelastic.data.task import Task
from localelastic.errors import SettingError
from localelastic.shapes import Coordinates, Points, Square, Vector


class Side(IntEnum):
    """The sign by which the two components of a geometry differ: ``e`` in its formula."""

    PRIMARY = 1
    """The paper's positive points, drawn in blue."""

    AUXILIARY = -1
    """The negative points, drawn in red."""


class Geometry(ABC):
    """Two curves or surfaces, one of primary and one of auxiliary points.

    Each side is a component of its own: no path on the manifold leads from one to the other.
    """

    name: ClassVar[str]
    """What it is called at the command line."""

    proxy: ClassVar[str] = ""
    """What was published in place of the geodesic distance, in words; empty where nothing was."""

    @abstractmethod
    def domain(self, side: Side) -> tuple[tuple[float, float], ...]:
        """The lowest and highest value of each of the ``q`` coordinates."""

    @abstractmethod
    def points(self, coordinates: Coordinates, *, side: Side) -> Points:
        """Where the given coordinates lie in the space of the inputs."""

    @abstractmethod
    def geodesic(self, coordinates: Coordinates, *, side: Side) -> Square:
        """The length of the shortest path on the manifold between any two, in units of the inputs.

        Args:
            coordinates: of points that are all on one side.
            side: which one.

        Returns:
            Symmetric, with a diagonal of zeros.
        """

    def published(self, coordinates: Coordinates, *, side: Side) -> Square:
        """The distance that was published in place of :meth:`geodesic`; ``proxy`` describes it."""
        return self.geodesic(coordinates, side=side)

    def spread(self, uniform: Coordinates, *, side: Side) -> Coordinates:
        """Coordinates drawn as the paper draws them.

        Args:
            uniform: random numbers of the unit interval, in the order of the examples.
            side: which side they are meant for.
        """
        low, high = np.array(self.domain(side)).T
        return low + (high - low) * uniform

    def sample(
        self, n: SupportsIndex = 50, *, seed: SupportsIndex = 0, noise: float = 0.0
    ) -> GeometrySample:
        """Points at random, as many on each side.

        They depend on the geometry, the side and the seed alone: a larger sample begins with the
        smaller one, and noise moves the inputs but not the points they stand for. The global random
        state is neither read nor moved.

        Args:
            n: how many primary points, and how many auxiliary ones; the paper has 50 of each.
            seed: 0 or more.
            noise: the standard deviation of Gaussian noise added to each number of an input, in
                units of the inputs. The paper has none.

        Raises:
            SettingError: ``n`` below 1, ``seed`` or ``noise`` below 0, or no such number.

        Example:
            >>> from localelastic.data import GEOMETRIES
            >>> sample = GEOMETRIES["torus"].sample(2, seed=1)
            >>> sample.examples.ids
            ('primary-0', 'primary-1', 'auxiliary-0', 'auxiliary-1')
        """
        count = _whole("n", n, least=1)
        start = _whole("seed", seed, least=0)
        if not (math.isfinite(noise) and noise >= 0):
            raise SettingError(f"expected noise to be a number of 0 or more, got {noise}")
        coordinates, inputs = [], []
        for side in Side:
            stream = [start, *self.name.encode(), side is Side.PRIMARY]
            uniform = np.random.default_rng(stream).random((count, len(self.domain(side))))
            coordinates.append(self.spread(uniform, side=side))
            exact = self.points(coordinates[-1], side=side)
            shift = np.random.default_rng([*stream, 1]).standard_normal(exact.shape)
            inputs.append(exact + noise * shift)
        sides = [side for side in Side for _ in range(count)]
        examples = Examples.of(
            torch.as_tensor(np.concatenate(inputs), dtype=torch.get_default_dtype()),
            ids=[f"{side.name.lower()}-{i}" for side in Side for i in range(count)],
            classes=[side.name.lower() for side in sides],
            source=f"{self.name}, {count} + {count} points, seed {start}, noise {noise:g}",
        )
        return GeometrySample(self, examples, tuple(sides), np.concatenate(coordinates))


@dataclass(frozen=True, eq=False)
class GeometrySample:
    """Points of a :class:`Geometry` and how far they are from each other. Immutable.

    Args:
        geometry: where they lie.
        examples: the inputs, with noise where it was asked for; the class of each is
            ``"primary"`` or ``"auxiliary"``.
        sides: the side of each example.
        coordinates: where on its side each lies, whatever the noise.
    """

    geometry: Geometry
    examples: Examples
    sides: tuple[Side, ...]
    coordinates: Coordinates

    def __post_init__(self) -> None:
        self.coordinates.setflags(write=False)

    def __len__(self) -> int:
        return len(self.sides)

    @property
    def points(self) -> Points:
        """Where the points lie without noise, in double precision."""
        parts = [
            (at, self.geometry.points(self.coordinates[at], side=side))
            for side, at in self._sides()
        ]
        filled = np.empty((len(self), parts[0][1].shape[1]))
        for at, exact in parts:
            filled[at] = exact
        return filled

    @property
    def primary(self) -> GeometrySample:
        """The primary points alone: the paper's figures show pairs of these."""
        return self.take(at for at, side in enumerate(self.sides) if side is Side.PRIMARY)

    @property
    def auxiliary(self) -> GeometrySample:
        """The auxiliary points alone."""
        return self.take(at for at, side in enumerate(self.sides) if side is Side.AUXILIARY)

    @property
    def task(self) -> Task:
        """What a network is trained on: primary against auxiliary, targets left to the loss."""
        return Task(primary=self.primary.examples, auxiliary=self.auxiliary.examples)

    def take(self, indices: Iterable[SupportsIndex]) -> GeometrySample:
        """The points at the given positions, in that order."""
        rows = [index(i) for i in indices]
        return GeometrySample(
            self.geometry,
            self.examples.take(rows),
            tuple(self.sides[i] for i in rows),
            self.coordinates[rows],
        )

    def geodesic(self, i: SupportsIndex, j: SupportsIndex) -> float:
        """The length of the shortest path on the manifold between two points.

        Infinite between points of two sides: no path joins them.

        Example:
            >>> from localelastic.data import GEOMETRIES
            >>> sample = GEOMETRIES["spheres"].sample(2)
            >>> sample.geodesic(0, 0), sample.geodesic(0, 2)
            (0.0, inf)
        """
        side, other = self.sides[i], self.sides[j]
        if side is not other:
            return math.inf
        pair = self.coordinates[[index(i), index(j)]]
        return float(self.geometry.geodesic(pair, side=side)[0, 1])

    def distances(self) -> Square:
        """:meth:`geodesic` of all pairs, in units of the inputs."""
        return self._within_sides(self.geometry.geodesic)

    def published_distances(self) -> Square:
        """What the paper's figures show instead; :attr:`Geometry.proxy` says what, and its unit.

        Equal to :meth:`distances` where ``proxy`` is empty. Infinite between sides.
        """
        return self._within_sides(self.geometry.published)

    def _sides(self) -> list[tuple[Side, list[int]]]:
        """Each side there is, and where its points are."""
        places = [(side, [i for i, of in enumerate(self.sides) if of is side]) for side in Side]
        return [(side, at) for side, at in places if at]

    def _within_sides(self, distance: Callable[..., Square]) -> Square:
        filled = np.full((len(self), len(self)), math.inf)
        for side, at in self._sides():
            filled[np.ix_(at, at)] = distance(self.coordinates[at], side=side)
        return filled


def wrapped(places: Vector, *, around: float) -> Square:
    """How far places on a closed line of length ``around`` are from each other, the short way."""
    gap = np.abs(places[:, None] - places[None, :]) % around
    return np.minimum(gap, around - gap)


def _whole(name: str, value: SupportsIndex, *, least: int) -> int:
    try:
        number = index(value)
    except TypeError:
        raise SettingError(f"expected {name} to be a whole number, got {value!r}") from None
    if number < least:
        raise SettingError(f"expected {name} to be {least} or more, got {number}")
    return number
