"""Whole jobs: spec to result record to rendering."""

from localelastic.experiments.cluster import ClusterRun, Prepared, explain, prepare, run_cluster
from localelastic.experiments.experiment import (
    MOST_SEEDS,
    SCALES,
    Cost,
    Experiment,
    Request,
    experiment_named,
    experiments,
    run_experiment,
)
from localelastic.experiments.experiment_folder import write_experiment
from localelastic.experiments.measure import (
    MeasureRun,
    PreparedMeasure,
    check_measure,
    prepare_measure,
    run_measure,
)
from localelastic.experiments.measure_folder import checks_as_values, measured, write_measure
from localelastic.experiments.measure_spec import OPTIMIZERS, OUTPUTS, MeasureSpec, as_typed
from localelastic.experiments.run_folder import (
    as_json,
    metrics,
    new_folder,
    unused_folder,
    write_run,
)
from localelastic.experiments.spec import PRETRAINED, ClusterSpec

__all__ = [
    "MOST_SEEDS",
    "OPTIMIZERS",
    "OUTPUTS",
    "PRETRAINED",
    "SCALES",
    "ClusterRun",
    "ClusterSpec",
    "Cost",
    "Experiment",
    "MeasureRun",
    "MeasureSpec",
    "Prepared",
    "PreparedMeasure",
    "Request",
    "as_json",
    "as_typed",
    "check_measure",
    "checks_as_values",
    "experiment_named",
    "experiments",
    "explain",
    "measured",
    "metrics",
    "new_folder",
    "prepare",
    "prepare_measure",
    "run_cluster",
    "run_experiment",
    "run_measure",
    "unused_folder",
    "write_experiment",
    "write_measure",
    "write_run",
]
