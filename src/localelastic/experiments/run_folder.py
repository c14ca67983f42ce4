"""The run folder: written beside its place, and moved there only when it is whole."""

from __future__ import annotations

import csv
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np

from localelastic.errors import OutputError
from localelastic.experiments.cluster import ClusterRun
from localelastic.report.html import render_report


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A hidden folder beside ``target`` that becomes it when the block ends without an error.

    Entered before the work starts, so that a place that cannot be written is known at once. After
    an error or an interruption nothing is left.

    Raises:
        OutputError: ``target`` exists, or cannot be written.
    """
    if target.exists() or target.is_symlink():
        raise OutputError(
            f"expected a new output folder, got {target}, which exists; remove it or name another"
        )
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{target.name}-partial-", dir=target.parent))
    except OSError as error:
        raise OutputError(f"cannot write to {target.parent}: {_reason(error)}") from error
    try:
        yield partial
        try:
            partial.chmod(0o777 & ~_umask())
            partial.rename(target)
        except OSError as error:
            raise OutputError(f"cannot move results to {target}: {_reason(error)}") from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_run(run: ClusterRun, folder: Path) -> None:
    """All files of a run.

    - ``spec.json``: everything needed to run it again.
    - ``metrics.json``: the scores of each method, and what was found.
    - ``environment.json``: the machine and the versions.
    - ``labels.csv``: id, cluster and, if known, class of each primary example; an example that was
      left out has no cluster but a reason.
    - ``similarity.npz``: raw values, ids and positions of the kept examples.
    - ``report.html``: the same for people.

    Raises:
        OutputError: a file cannot be written, such as on a full disk.
    """
    try:
        _text(folder / "spec.json", run.spec.to_json())
        _text(folder / "metrics.json", json.dumps(metrics(run), indent=2) + "\n")
        _text(
            folder / "environment.json", json.dumps(dict(run.record.environment), indent=2) + "\n"
        )
        _labels(run, folder / "labels.csv")
        matrix = run.found.similarity
        np.savez_compressed(
            folder / "similarity.npz",
            values=matrix.values,
            ids=np.array(matrix.ids),
            kept=np.array(matrix.kept),
        )
        _text(folder / "report.html", render_report(run.record))
    except OSError as error:
        raise OutputError(f"cannot write results into {folder}: {_reason(error)}") from error


def metrics(run: ClusterRun) -> dict[str, object]:
    """What ``metrics.json`` and ``--json`` say."""
    record, matrix = run.record, run.found.similarity
    return {
        "finding": record.finding,
        "methods": {score.method: _named(asdict(score)) for score in record.scores},
        "clusters": np.bincount(record.labels, minlength=run.spec.clusters or 2).tolist(),
        "matched": record.matched,
        "n_primary": len(run.task.primary),
        "n_auxiliary": len(run.task.auxiliary),
        "excluded": dict(matrix.excluded),
        "strategy": matrix.strategy,
        "exact": matrix.exact,
        "training": asdict(run.found.training),
        "notes": record.notes,
    }


def as_json(values: dict[str, object]) -> str:
    """Indented, in the order given."""
    return json.dumps(values, indent=2) + "\n"


def _named(score: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in score.items() if name != "method"}


def _labels(run: ClusterRun, path: Path) -> None:
    clusters = dict(zip(run.record.ids, run.record.labels.tolist(), strict=True))
    reasons = dict(run.found.similarity.excluded)
    primary = run.task.primary
    known = primary.classes or ("",) * len(primary)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "cluster", "class", "left_out_because"])
        for name, label in zip(primary.ids, known, strict=True):
            rows.writerow([name, clusters.get(name, ""), label, reasons.get(name, "")])


def _text(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
