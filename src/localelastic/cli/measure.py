"""``localelastic measure`` and ``localelastic check``."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import fields
from pathlib import Path
from typing import Any

from localelastic.cli import measure_options, options
from localelastic.cli.measure_telling import tell_checks, tell_measure, warn
from localelastic.cli.progress import shown
from localelastic.errors import SettingError
from localelastic.experiments import (
    MeasureSpec,
    PreparedMeasure,
    as_json,
    check_measure,
    checks_as_values,
    measured,
    new_folder,
    prepare_measure,
    run_measure,
    unused_folder,
    write_measure,
)


def measure(
    function: measure_options.Function = None,
    step_on: measure_options.StepOn = None,
    probes: measure_options.Probes = None,
    lr: measure_options.Lr = None,
    optimizer: measure_options.OptimizerName = None,
    output: measure_options.Output = None,
    class_: measure_options.Class = None,
    mode: measure_options.Mode = None,
    precision: measure_options.Precision = None,
    no_first_order: measure_options.NoFirstOrder = False,
    top: measure_options.Top = None,
    out: options.Out = None,
    quiet: options.Quiet = False,
    json: measure_options.Json = False,
) -> None:
    """Take one step on an example of your own model: what else moves?

    A real step is taken on a copy of the model, and every other prediction is computed before and
    after. Shown are the probes that moved most, least and the other way.

    [bold]localelastic measure model.py:digits --step-on 7 --lr 0.01[/]

    The function returns (model, examples), (model, inputs, targets), or a dict of model, examples
    and whichever is needed of targets, loss, optimizer, lr, prediction, call, select, mode,
    batch_size, step_on and texts.

    Results go into a new folder: report.html to look at, changes.csv and measure.json.
    """
    spec = _spec(locals())
    target = out.expanduser() if out else unused_folder(Path("runs", _name(spec)))
    with new_folder(target) as folder:
        prepared = _prepared(spec)
        checks = check_measure(prepared)
        if not quiet:
            warn(checks)
        with shown(quiet=quiet) as progress:
            run = run_measure(prepared, checks, progress)
        write_measure(run, folder)
    if json:
        print(as_json({**measured(run), "folder": str(target)}), end="")
    elif not quiet:
        tell_measure(run, target)


def check(
    function: measure_options.Function = None,
    step_on: measure_options.StepOn = None,
    lr: measure_options.Lr = None,
    optimizer: measure_options.OptimizerName = None,
    output: measure_options.Output = None,
    class_: measure_options.Class = None,
    mode: measure_options.Mode = None,
    precision: measure_options.Precision = None,
    json: measure_options.Json = False,
) -> None:
    """Look at your own model and examples before measuring them.

    Says what would be measured, and what would make its numbers mean less than they seem to.
    Warnings leave the exit code at 0; what cannot be measured at all is an error.

    [bold]localelastic check model.py:digits[/]

    The function is the same as for localelastic measure.
    """
    checks = check_measure(_prepared(_spec(locals())))
    if json:
        print(as_json({"checks": checks_as_values(checks)}), end="")
    else:
        tell_checks(checks)


def _spec(given: Mapping[str, Any]) -> MeasureSpec:
    """The specification in the words of the command line."""
    if not given["function"]:
        last = (given["step_on"] or given.get("probes") or [""])[-1]
        hint = (
            f" ({last!r} was taken for an id: MODULE:FUNCTION comes first)" if ":" in last else ""
        )
        raise SettingError(
            "expected MODULE:FUNCTION, such as in: localelastic measure model.py:digits" + hint
        )
    names = {field.name for field in fields(MeasureSpec)} & given.keys()
    values = {name: given[name] for name in names if given[name] is not None}
    lists = {name: tuple(value) for name, value in values.items() if isinstance(value, list)}
    return MeasureSpec(**{**values, **lists}, first_order=not given.get("no_first_order", False))


def _prepared(spec: MeasureSpec) -> PreparedMeasure:
    """What the user's code prints is no result of ours: it goes to standard error."""
    with redirect_stdout(sys.stderr):
        return prepare_measure(spec)


def _name(spec: MeasureSpec) -> str:
    """Of the folder of a run, short enough for every file system."""
    place, _, function = spec.function.rpartition(":")
    words = ["measure", Path(place).stem, function, *(spec.step_on or ())[:3]]
    plain = re.sub(r"[^\w.-]+", "_", "-".join(words))
    return plain.encode()[:100].decode(errors="ignore")
