"""The files of an experiment."""

from __future__ import annotations

from pathlib import Path

from localelastic.experiments.experiment import Experiment
from localelastic.experiments.run_folder import write_text, writing
from localelastic.report.experiment import Picture, render_experiment
from localelastic.report.experiment_record import ExperimentRecord


def write_experiment(experiment: Experiment, record: ExperimentRecord, folder: Path) -> None:
    """``record.json``, ``series.npz``, ``report.html``, and each picture as PNG and PDF.

    Raises:
        OutputError: a file cannot be written, such as on a full disk.
    """
    with writing(f"write the results into {folder.parent}"):
        record.write(folder)
        pictures: tuple[Picture, ...] = tuple(experiment.draw(record))
        for picture in pictures:
            picture.write(folder)
        write_text(folder / "report.html", render_experiment(record, pictures))
