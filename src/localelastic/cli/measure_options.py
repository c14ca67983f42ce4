"""The words of ``localelastic measure --help`` and ``localelastic check --help``."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer

from localelastic.cli.options import option
from localelastic.experiments import OPTIMIZERS, OUTPUTS, MeasureSpec

_examples = partial(option, "Examples")
_measure = partial(option, "Measurement")
_output = partial(option, "Output")

Function = Annotated[
    str | None,
    typer.Argument(
        metavar="MODULE:FUNCTION",
        show_default=False,
        help="A function of yours, such as [bold]model.py:digits[/] or [bold]my.module:digits[/], "
        "that takes nothing and returns (model, examples), (model, inputs, targets) or a dict.",
    ),
]

StepOn = Annotated[
    list[str] | None,
    _examples(
        "ID ...",
        "Examples to step on; of several, one step on their mean loss.",
        flag="--step-on",
        default="the function's step_on, or the first example",
    ),
]
Probes = Annotated[
    list[str] | None,
    _examples("ID ...", "Where to look.", flag="--probes", default="all other examples"),
]

Lr = Annotated[
    float | None,
    _measure("LR", "Step size.", default="the function's, or 0.01 of plain SGD"),
]
OptimizerName = Annotated[
    str | None,
    _measure(
        "NAME", f"{', '.join(OPTIMIZERS)}; its first step.", default="the function's, or plain SGD"
    ),
]
Output = Annotated[
    str | None,
    _measure(
        "NAME",
        f"What is watched: {', '.join(OUTPUTS)}.",
        default="the function's prediction, or what fits the model",
    ),
]
Class = Annotated[
    int | None,
    _measure("K", "Watch the logit of one class, counted from 0.", flag="--class"),
]
Mode = Annotated[
    str | None,
    _measure("NAME", "eval or train.", default="the function's, or as the model is"),
]
Precision = Annotated[
    str | None,
    _measure("NAME", "float32 or float64.", default="the model's"),
]
NoFirstOrder = Annotated[
    bool,
    _measure("", "Leave out the first order, which costs a few passes.", flag="--no-first-order"),
]

Top = Annotated[
    int | None,
    _output("K", "Probes to show of each kind.", default=MeasureSpec.top),
]
Json = Annotated[bool, _output("", "Print what was found as JSON.", flag="--json")]
