"""The files of a measurement."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from localelastic.change.effect import PredictionChange, Values
from localelastic.experiments.measure import MeasureRun, along
from localelastic.experiments.run_folder import ERRORS, as_json, write_text, writing
from localelastic.measure import Preflight
from localelastic.report.html import render_measure


def write_measure(run: MeasureRun, folder: Path) -> None:
    """All files of a measurement.

    - ``changes.csv``: one row per probe.
    - ``measure.json``: everything else, with the checks and the environment.
    - ``report.html``: the same for people.

    Raises:
        OutputError: a file cannot be written, such as on a full disk.
    """
    with writing(f"write the results into {folder.parent}"):
        _changes(run, folder / "changes.csv")
        write_text(folder / "measure.json", as_json(measured(run)))
        write_text(folder / "report.html", render_measure(run.record))


def measured(run: MeasureRun) -> dict[str, object]:
    """What ``measure.json`` and ``--json`` say."""
    found, record = run.found, run.record

    def names(places: list[int]) -> list[str]:
        return [found.ids[place] for place in places]

    top = run.prepared.spec.top
    return {
        "finding": record.finding,
        "prediction": found.prediction,
        "step": found.step,
        "step_ids": found.step_ids,
        "n_probes": len(found.ids),
        "loss": found.loss,
        "self_change": found.self_change.tolist(),
        "self_size": found.self_size,
        "self_kl": None if found.self_kl is None else found.self_kl.tolist(),
        "relative": {
            "median": float(np.median(found.relative)),
            "max": float(found.relative.max()),
        },
        "below_floor": int(found.below_floor.sum()),
        "opposite": len(found.opposite(len(found.ids))),
        "linearity": found.linearity,
        "moved_share": found.moved_share,
        "most": names(found.most(top)),
        "least": names(found.least(top)),
        "the_other_way": names(found.opposite(top)),
        "strategy": found.strategy,
        "checks": checks_as_values(run.checks),
        "notes": record.notes,
        "settings": dict(record.settings),
        "command": record.command,
        "environment": dict(record.environment),
    }


def checks_as_values(checks: Preflight) -> list[dict[str, str]]:
    """The findings, for JSON."""
    return [{"level": one.level, "check": one.check, "found": one.found} for one in checks.findings]


def _changes(run: MeasureRun, path: Path) -> None:
    found, examples = run.found, run.prepared.subject.examples
    known = examples.take(run.prepared.probes).classes or ("",) * len(found.ids)
    columns: dict[str, Any] = {
        "id": found.ids,
        "class": known,
        **_columns("change", found.change),
        "size": found.size,
        "relative": found.relative,
        **({"along": along(found.change, found)} if found.change.ndim > 1 else {}),
        "kl": found.kl,
        **_columns("first_order", found.first_order, like=found),
        **_columns("gap", found.gap, like=found),
        "noise_floor": found.noise_floor,
        "below_floor": found.below_floor.astype(int),
    }
    rows = [
        ("",) * len(found.ids) if column is None else _listed(column) for column in columns.values()
    ]
    with path.open("w", newline="", encoding="utf-8", errors=ERRORS) as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(columns)
        table.writerows(zip(*rows, strict=True))


def _columns(
    name: str, values: Values | None, like: PredictionChange | None = None
) -> dict[str, Any]:
    """One column, or one per output; empty where there are no values."""
    shape = like.change if values is None and like is not None else values
    if shape is None or shape.ndim == 1:
        return {name: values}
    return {f"{name}_{k}": None if values is None else values[:, k] for k in range(shape.shape[1])}


def _listed(column: Any) -> Any:
    return column.tolist() if isinstance(column, np.ndarray) else column
