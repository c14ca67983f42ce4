"""``localelastic run`` and ``localelastic list``."""

from __future__ import annotations

import shlex
from dataclasses import asdict, replace
from pathlib import Path

from joblib import cpu_count
from rich.console import Console
from rich.table import Column, Table

from localelastic.cli import options, run_options
from localelastic.cli.progress import shown
from localelastic.errors import SettingError
from localelastic.experiments import (
    MOST_SEEDS,
    SCALES,
    Cost,
    Experiment,
    Request,
    as_json,
    experiment_named,
    experiments,
    new_folder,
    run_experiment,
    unused_folder,
    write_experiment,
)
from localelastic.report.experiment import row_of
from localelastic.report.experiment_record import ExperimentRecord


def run(
    name: run_options.Name = None,
    scale: run_options.Scale = None,
    protocol: run_options.Protocol = None,
    only: run_options.Only = None,
    seeds: run_options.Seeds = None,
    seed: run_options.FirstSeed = None,
    workers: run_options.Workers = None,
    cache: run_options.Cache = None,
    photos: run_options.Photos = None,
    classifier: run_options.Classifier = None,
    data: run_options.DataFolder = None,
    out: run_options.Out = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Redo a figure or table of the paper, with our numbers beside the published.

    [bold]localelastic run figure1 --scale quick[/]

    Results go into a new folder: report.html to look at, the pictures as PNG and PDF, record.json
    with every number, and series.npz with the arrays behind the pictures.
    """
    if name is None:
        raise SettingError(f"expected EXPERIMENT, one of: {', '.join(experiments())}")
    experiment = experiment_named(name)
    if seeds is not None and not 1 <= seeds <= MOST_SEEDS:
        raise SettingError(f"expected --seeds from 1 to {MOST_SEEDS}, got {seeds}")
    scale = Request.scale if scale is None else scale
    request = Request(
        scale,
        photos=_expanded(photos),
        classifier=_expanded(classifier),
        data=_expanded(data),
        cache=_expanded(cache),
        workers=_workers(experiment, scale) if workers is None else workers,
        protocol=Request.protocol if protocol is None else protocol,
        only=only or Request.only,
    )
    count = experiment.costs[request.scale].seeds if seeds is None else seeds
    first = 0 if seed is None else seed
    request = replace(request, seeds=tuple(range(first, first + count)))
    target = out.expanduser() if out else unused_folder(Path("runs", f"{name}-{scale}"))
    with new_folder(target) as folder:
        with shown(quiet=quiet) as progress:
            record = run_experiment(experiment, request, progress, _command(name, request, first))
        write_experiment(experiment, record, folder)
    if json:
        print(record.to_json(), end="")
    elif not quiet:
        _tell(record, target)


def list_experiments(json: options.Json = False) -> None:
    """Show every experiment, and what each scale takes on two cores."""
    if json:
        listed: dict[str, object] = {
            name: {
                "title": one.title,
                "source": one.source,
                "costs": {scale: asdict(one.costs[scale]) for scale in SCALES},
            }
            for name, one in experiments().items()
        }
        print(as_json(listed), end="")
        return
    table = Table(Column("experiment", no_wrap=True, overflow="fold"), "what", *SCALES)
    for name, one in experiments().items():
        table.add_row(name, one.title, *(_cost(one.costs[scale]) for scale in SCALES))
    console = Console(markup=False, emoji=False, highlight=False)
    console.print(table)
    console.print("Time and memory on two cores, with the default number of seeds.")


def _workers(experiment: Experiment, scale: str) -> int:
    """All cores; starting other processes takes longer than the smallest scale."""
    one = "workers" not in experiment.takes or scale == SCALES[0]
    return 1 if one else cpu_count()


def _expanded(path: Path | None) -> Path | None:
    return None if path is None else path.expanduser()


def _command(name: str, request: Request, first: int) -> str:
    words = ["localelastic", "run", name, "--scale", request.scale]
    words += ["--seeds", str(len(request.seeds))] + (["--seed", str(first)] if first else [])
    words += ["--protocol", request.protocol] if request.protocol != Request.protocol else []
    words += ["--only", request.only] if request.only else []
    for flag in ("photos", "classifier", "data", "cache"):
        if (path := getattr(request, flag)) is not None:
            words += [f"--{flag}", str(path)]
    return shlex.join(words)


def _cost(cost: Cost) -> str:
    if cost.seconds < 100:
        time = f"{cost.seconds:.0f} s"
    elif cost.seconds < 5400:
        time = f"{cost.seconds / 60:.0f} min"
    else:
        time = f"{cost.seconds / 3600:.1f} h"
    return f"{time}, {cost.gibibytes:.1f} GiB, {cost.seeds} seed{'s' if cost.seeds > 1 else ''}"


def _tell(record: ExperimentRecord, folder: Path) -> None:
    """Print the headlines and what has a published value; the report has the rest."""
    console = Console(markup=False, emoji=False, highlight=False)
    whole = not console.is_terminal
    table = Table("", "ours", "95 % interval", "published")
    for one in record.quantities:
        if one.headline or one.published is not None:
            row = row_of(one)
            label = ": ".join(filter(None, (one.group, one.name)))
            table.add_row(label, row.ours, row.interval, row.published)
    if table.rows:
        console.print(table)
    console.print(record.finding, soft_wrap=whole)
    for note in record.notes:
        console.print(f"Note: {note}", soft_wrap=whole)
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True)
