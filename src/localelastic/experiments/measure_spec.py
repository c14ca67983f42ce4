"""What a measurement is asked for, in the words of the command line."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Any

import torch
from torch import nn
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer, RMSprop

from localelastic.errors import SettingError
from localelastic.experiments.subject import Subject
from localelastic.models import (
    AnswerLogProbability,
    Logits,
    LogProbability,
    OneClass,
    Prediction,
    Probability,
    Scalar,
)

OPTIMIZERS: dict[str, Any] = {
    "sgd": SGD,
    "adam": Adam,
    "adamw": AdamW,
    "rmsprop": RMSprop,
    "adagrad": Adagrad,
}

OUTPUTS: dict[str, Prediction] = {
    "scalar": Scalar(),
    "probability": Probability(),
    "logits": Logits(),
    "log-probability": LogProbability(),
    "answer": AnswerLogProbability(),
}

PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
MODES = ("eval", "train")


@dataclass(frozen=True)
class MeasureSpec:
    """What to measure. ``None`` leaves it to the user's function, then to the defaults.

    Args:
        function: the user's function, see :mod:`localelastic.experiments.subject`.
        step_on: ids of the examples to step on; the first example if nobody says.
        probes: ids of the probes; all others if ``None``.
        lr: step size of the optimizer named, or of plain SGD.
        optimizer: a name in ``OPTIMIZERS``.
        output: a name in ``OUTPUTS``.
        class_: watch the logit of this class, counted from 0.
        mode: eval or train.
        precision: a name in ``PRECISIONS``.
        first_order: whether to compute the first order too.
        top: how many probes to show of each kind.

    Raises:
        SettingError: a name or a number that is not among these.
    """

    function: str
    step_on: tuple[str, ...] | None = None
    probes: tuple[str, ...] | None = None
    lr: float | None = None
    optimizer: str | None = None
    output: str | None = None
    class_: int | None = None
    mode: str | None = None
    precision: str | None = None
    first_order: bool = True
    top: int = 8

    def __post_init__(self) -> None:
        _expect("optimizer", self.optimizer, OPTIMIZERS)
        _expect("output", self.output, OUTPUTS)
        _expect("mode", self.mode, MODES)
        _expect("precision", self.precision, PRECISIONS)
        if self.lr is not None and not 0 < self.lr < inf:
            raise SettingError(f"expected a positive, finite --lr, got {self.lr}")
        if self.output is not None and self.class_ is not None:
            raise SettingError(
                f"expected --output or --class, got both ({self.output} and {self.class_}); "
                "--class watches the logit of one class"
            )
        if self.class_ is not None and self.class_ < 0:
            raise SettingError(f"expected --class of 0 or more, got {self.class_}")
        if self.top < 1:
            raise SettingError(f"expected --top of 1 or more, got {self.top}")

    def settings(self, subject: Subject) -> dict[str, Any]:
        """Keyword arguments for ``prediction_change`` and ``preflight``: ours, else the function's.

        Raises:
            SettingError: a step size beside an optimizer of the function, which has its own.
        """
        given = dict(subject.settings)
        if self.optimizer is not None:
            given.pop("lr", None)
            given["optimizer"] = _optimizer(subject.model, self.optimizer, self.lr)
        elif self.lr is not None:
            if "optimizer" in given:
                raise SettingError(
                    f"expected --lr with plain SGD or with --optimizer, got --lr {self.lr:g} and "
                    f"the optimizer of {self.function}, which has its own step size; name one "
                    "with --optimizer, or leave --lr out"
                )
            given["lr"] = self.lr
        if self.output is not None:
            given["prediction"] = OUTPUTS[self.output]
        elif self.class_ is not None:
            given["prediction"] = OneClass(self.class_)
        if self.mode is not None:
            given["mode"] = self.mode
        if self.precision is not None:
            given["dtype"] = PRECISIONS[self.precision]
        return given

    @property
    def command(self) -> str:
        """What to type for the same again."""
        words = ["localelastic", "measure", self.function]
        for name, value in (
            ("--step-on", self.step_on),
            ("--probes", self.probes),
            ("--lr", self.lr),
            ("--optimizer", self.optimizer),
            ("--output", self.output),
            ("--class", self.class_),
            ("--mode", self.mode),
            ("--precision", self.precision),
        ):
            if isinstance(value, tuple):
                safe = not any(one.startswith("-") for one in value)
                words += [name, *value] if safe else [f"{name}={one}" for one in value]
            elif value is not None:
                words += [name, f"{value:g}" if isinstance(value, float) else str(value)]
        return shlex.join(words if self.first_order else [*words, "--no-first-order"])


def as_typed(words: str) -> str:
    """The advice for Python as it is typed in a terminal."""
    words = words.replace("dtype=torch.float64", "--precision float64")
    return re.sub(r"mode=['\"](eval|train)['\"]", r"--mode \1", words)


def _optimizer(model: nn.Module, name: str, lr: float | None) -> Optimizer | partial[Optimizer]:
    """A fresh one; of plain SGD the step size is the one that is used without a name."""
    size = {"lr": 0.01} if name == "sgd" else {}
    size |= {} if lr is None else {"lr": lr}
    trainable = [p for p in model.parameters() if p.requires_grad]
    if not trainable:  # which is said better where the step is taken
        return partial(OPTIMIZERS[name], **size)
    made: Optimizer = OPTIMIZERS[name](trainable, **size)
    return made


def _expect(name: str, value: str | None, known: Any) -> None:
    if value is not None and value not in known:
        raise SettingError(f"expected --{name} to be one of {', '.join(known)}, got {value!r}")
