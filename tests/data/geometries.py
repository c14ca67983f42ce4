"""What the tests of points and of distances share."""

import pytest

from localelastic.data import GEOMETRIES, Side

SIDES = pytest.mark.parametrize("side", Side, ids=lambda side: side.name.lower())


def each(names=GEOMETRIES):
    return pytest.mark.parametrize("geometry", [GEOMETRIES[name] for name in names], ids=names)


def part(sample, side):
    return sample.primary if side is Side.PRIMARY else sample.auxiliary
