"""The run folder: written beside its place, and moved there only when it is whole."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from glob import escape
from pathlib import Path
from secrets import token_hex

import numpy as np

from localelastic.errors import OutputError
from localelastic.experiments.cluster import ClusterRun
from localelastic.report.html import render_report


@contextmanager
def new_folder(target: Path) -> Iterator[Path]:
    """A hidden folder beside ``target`` that becomes it when the block ends without an error.

    Entered before the work starts, so that a place that cannot be written is known at once. After
    an error or an interruption nothing is left, not even the folders above that were made for it.

    Raises:
        OutputError: ``target`` exists, or cannot be written.
    """
    partial = target.parent / f"{_partial(target)}{token_hex(4)}"
    made: list[Path] = []
    try:
        with writing(f"make {target}"):
            if target.exists() or target.is_symlink():
                raise OutputError(
                    f"expected a new output folder, got {target}, which exists; "
                    "remove it or name another"
                )
            made += [folder for folder in target.parents if not folder.exists()]
            partial.mkdir(parents=True)
        yield partial
        with writing(f"move the results to {target}"):
            partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
        with suppress(OSError):  # not empty: it holds the results, or those of another run
            for folder in made:
                folder.rmdir()


def unused_folder(wanted: Path) -> Path:
    """``wanted``, or the first of ``wanted-2``, ``wanted-3`` ... that no run has taken or is in."""
    number, path = 1, wanted
    while path.exists() or any(path.parent.glob(f"{escape(_partial(path))}*")):
        number += 1
        path = wanted.with_name(f"{wanted.name}-{number}")
    return path


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
    matrix = run.found.similarity
    with writing(f"write the results into {folder.parent}"):
        write_text(folder / "spec.json", run.spec.to_json())
        write_text(folder / "metrics.json", as_json(metrics(run)))
        write_text(folder / "environment.json", as_json(dict(run.record.environment)))
        _labels(run, folder / "labels.csv")
        np.savez_compressed(
            folder / "similarity.npz",
            values=matrix.values,
            ids=np.array(matrix.ids),
            kept=np.array(matrix.kept),
        )
        write_text(folder / "report.html", render_report(run.record))


def metrics(run: ClusterRun) -> dict[str, object]:
    """What ``metrics.json`` and ``--json`` say."""
    record, matrix = run.record, run.found.similarity
    return {
        "finding": record.finding,
        "methods": {score.method: _named(asdict(score)) for score in record.scores},
        "clusters": np.bincount(record.labels, minlength=record.distances.shape[1]).tolist(),
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
    with path.open("w", newline="", encoding="utf-8", errors=ERRORS) as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", "cluster", "class", "left_out_because"])
        for name, label in zip(primary.ids, known, strict=True):
            rows.writerow([name, clusters.get(name, ""), label, reasons.get(name, "")])


# A file name need not be valid Unicode; the image it names is an example like any other.
ERRORS = "backslashreplace"


def write_text(path: Path, text: str) -> None:
    """Text as UTF-8."""
    path.write_text(text, encoding="utf-8", errors=ERRORS)


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Whatever the system refuses becomes an ``OutputError`` that says what was tried."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(
            f"cannot {what}: {error.strerror or error}; name another place with --out"
        ) from error


def _partial(target: Path) -> str:
    """How the hidden folders of runs into ``target`` begin."""
    return f".{target.name}-partial-"
