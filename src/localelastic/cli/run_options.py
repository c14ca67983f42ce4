"""The words of ``localelastic run --help``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from localelastic.cli.options import option
from localelastic.experiments import SCALES, Request

_run = partial(option, "Run")
_data = partial(option, "Data")
_output = partial(option, "Output")

Name = Annotated[
    str | None,
    typer.Argument(
        metavar="EXPERIMENT", show_default=False, help="One of those that localelastic list shows."
    ),
]
Scale = Annotated[
    str | None,
    _run(
        "NAME",
        f"{', '.join(SCALES)}: seconds, minutes, or as published.",
        default=Request.scale,
    ),
]
Seeds = Annotated[
    int | None,
    _run("N", "Repeat with N seeds, for intervals.", default="as listed"),
]
FirstSeed = Annotated[int | None, _run("N", "The first of them.", flag="--seed", default="0")]
Workers = Annotated[int | None, _run("N", "Parts computed at once.", default="one per core")]
Cache = Annotated[
    Path | None,
    _run("FOLDER", "Where finished parts are kept: a run that was killed goes on from them."),
]

Protocol = Annotated[
    str | None,
    _run(
        "NAME",
        "Of a table: published (as the scripts), algorithm1 (as printed) or ours.",
        default=Request.protocol,
    ),
]
Only = Annotated[
    str | None,
    _run(
        "TEXT",
        "Of a table only rows, of figures 1 and 4 only sets, with this in their name.",
        default="all",
    ),
]

Photos = Annotated[Path | None, _data("FOLDER", "Photographs, one sub-folder per class.")]
Classifier = Annotated[Path | None, _data("FILE", "A checkpoint of a classifier of photographs.")]
DataFolder = Annotated[
    Path | None, _data("FILE", "A data set in place of the shipped examples.", flag="--data")
]

Out = Annotated[Path | None, _output("FOLDER", "New folder for the results.", default="runs/...")]
