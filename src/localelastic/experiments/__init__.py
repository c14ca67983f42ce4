"""Whole jobs: spec to result record to rendering."""

from localelastic.experiments.cluster import ClusterRun, Prepared, explain, prepare, run_cluster
from localelastic.experiments.run_folder import (
    as_json,
    metrics,
    new_folder,
    unused_folder,
    write_run,
)
from localelastic.experiments.spec import ClusterSpec

__all__ = [
    "ClusterRun",
    "ClusterSpec",
    "Prepared",
    "as_json",
    "explain",
    "metrics",
    "new_folder",
    "prepare",
    "run_cluster",
    "unused_folder",
    "write_run",
]
