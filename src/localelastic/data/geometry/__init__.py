"""Curves and surfaces whose geodesic distances are known: the paper's synthetic examples."""

from localelastic.data.geometry.curves import Cosines, Cycles, DoubleHelix, Torus
from localelastic.data.geometry.geometry import Geometry, GeometrySample, Side
from localelastic.data.geometry.surfaces import FoldedBoxes, Spheres

GEOMETRIES: dict[str, Geometry] = {
    geometry.name: geometry
    for geometry in (Torus(), FoldedBoxes(), Cosines(), DoubleHelix(), Cycles(), Spheres())
}
"""By the name used at the command line, in the order of the paper's figures 1 and 4."""

__all__ = [
    "GEOMETRIES",
    "Cosines",
    "Cycles",
    "DoubleHelix",
    "FoldedBoxes",
    "Geometry",
    "GeometrySample",
    "Side",
    "Spheres",
    "Torus",
]
