"""What was passed, turned into what is measured: defaults by what the model returns."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from torch import Tensor, nn
from torch.optim import Optimizer

from localelastic.change import Question
from localelastic.data.examples import Examples
from localelastic.data.nested import rows_of
from localelastic.errors import SettingError
from localelastic.models import (
    Custom,
    Forward,
    Logits,
    LogProbability,
    Loss,
    Prediction,
    Scalar,
    as_given,
    code,
)
from localelastic.trajectory import Trajectory
from localelastic.update import LossLike, Mode, OptimizerLike, Replica, default_loss

PredictionLike = Prediction | Callable[[Tensor], Tensor] | None


def prediction_for(
    prediction: PredictionLike, loss: LossLike, output: Tensor, targets: Any
) -> Prediction:
    """The prediction that was asked for, or the one that fits.

    That of the loss if it is one of ours; the output where it is one number; the log-probability of
    the target where targets are classes; else all logits.

    Args:
        prediction: as asked for; a function of the output, or ``None``.
        loss: of the step.
        output: ``(n, *out)`` of a few examples.
        targets: of the probes, or ``None``.

    Raises:
        SettingError: outputs with more axes, of which there is no default.
    """
    if isinstance(prediction, Prediction):
        return prediction
    if prediction is not None:
        return Custom(prediction)
    if output.ndim == 1:
        return loss.prediction if isinstance(loss, Loss) else Scalar()
    if output.ndim == 2:
        labels = isinstance(targets, Tensor) and targets.ndim == 1
        # Bools too, which it then refuses in words.
        return LogProbability() if labels and not targets.is_floating_point() else Logits()
    raise SettingError(
        f"expected prediction= for outputs of shape {tuple(output.shape[1:])} per example; for a "
        "causal language model AnswerLogProbability(), else a function of the output"
    )


def loss_for(loss: LossLike, output: Tensor, targets: Any) -> LossLike:
    """The loss that was asked for, or the one that fits; ``None`` if only the model knows one."""
    if loss is None and (targets is not None or output.ndim == 1):
        with suppress(SettingError):  # said again by the step, if it needs one
            return default_loss(output, targets)
    return loss


def question_for(
    model: nn.Module,
    replica: Replica,
    primary: Examples,
    auxiliary: Examples | None = None,
    *,
    loss: LossLike,
    prediction: PredictionLike,
    trajectory: Trajectory,
    optimizer: OptimizerLike,
    forward: Forward,
    mode: Mode,
) -> tuple[Question, Tensor]:
    """What is to be measured, with defaults by a copy's output at one example; and that output."""
    output = replica.outputs(replica.place(rows_of(primary.inputs, slice(0, 1))))
    loss = loss_for(loss, output, primary.targets)
    watched = prediction_for(prediction, loss, output, primary.targets)
    if primary.targets is not None:
        watched.check(output, primary.targets)
    question = Question(
        model,
        code(primary, auxiliary, loss) if isinstance(loss, Loss) else as_given(primary, auxiliary),
        loss,
        watched,
        trajectory,
        optimizer,
        forward,
        mode,
    )
    return question, output


def as_examples(value: Any, name: str) -> Examples:
    """Examples as they are, or made from inputs.

    Raises:
        SettingError: ``None``.
    """
    if value is None:
        raise SettingError(f"expected {name} as Examples or inputs, got None")
    return value if isinstance(value, Examples) else Examples.of(value)


def expect_function(**arguments: object) -> None:
    """Refuse what can neither be called nor is one of our objects, and bare classes."""
    for name, value in arguments.items():
        known = callable(value) or isinstance(value, Prediction | Loss | Optimizer)
        wrong_class = isinstance(value, type) and not issubclass(value, Optimizer)
        if value is not None and (not known or wrong_class):
            got = " ".join(repr(value).split())[:80]
            raise SettingError(f"expected {name} to be an object or a function, got {got}")


def expect_progress(progress: object) -> None:
    """Refuse what cannot be told how the work goes on."""
    if not callable(progress):
        raise SettingError(
            "expected progress to be a function of (stage, done, total), got "
            f"{progress!r}; leave it out to be told nothing"
        )
