"""Examples, where they come from, and the primary-against-auxiliary task."""

from localelastic.data.examples import Examples
from localelastic.data.load import load_examples
from localelastic.data.mnist import load_mnist
from localelastic.data.sampling import FirstSampling, RandomSampling, Sampling
from localelastic.data.scaling import Pixels
from localelastic.data.task import Task, primary_vs_auxiliary

__all__ = [
    "Examples",
    "FirstSampling",
    "Pixels",
    "RandomSampling",
    "Sampling",
    "Task",
    "load_examples",
    "load_mnist",
    "primary_vs_auxiliary",
]
