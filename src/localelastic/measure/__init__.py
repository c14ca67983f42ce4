"""The junction: trajectory, change, similarity and matrix meet here and nowhere else."""

from localelastic.measure.checks import Finding
from localelastic.measure.effect import prediction_change
from localelastic.measure.matrix import similarity_matrix
from localelastic.measure.preflight import Preflight, preflight

__all__ = ["Finding", "Preflight", "prediction_change", "preflight", "similarity_matrix"]
