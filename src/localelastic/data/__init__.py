"""Examples, where they come from, and the primary-against-auxiliary task."""

from localelastic.data.examples import Examples
from localelastic.data.geometry import (
    GEOMETRIES,
    Cosines,
    Cycles,
    DoubleHelix,
    FoldedBoxes,
    Geometry,
    GeometrySample,
    Side,
    Spheres,
    Torus,
)
from localelastic.data.load import load_examples
from localelastic.data.mnist import load_mnist
from localelastic.data.sampling import FirstSampling, RandomSampling, Sampling
from localelastic.data.scaling import Pixels
from localelastic.data.task import Task, primary_vs_auxiliary

__all__ = [
    "GEOMETRIES",
    "Cosines",
    "Cycles",
    "DoubleHelix",
    "Examples",
    "FirstSampling",
    "FoldedBoxes",
    "Geometry",
    "GeometrySample",
    "Pixels",
    "RandomSampling",
    "Sampling",
    "Side",
    "Spheres",
    "Task",
    "Torus",
    "load_examples",
    "load_mnist",
    "primary_vs_auxiliary",
]
