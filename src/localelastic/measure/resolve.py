"""What was passed, turned into what is measured: defaults by what the model returns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from localelastic.data.examples import Examples
from localelastic.errors import SettingError
from localelastic.models import Custom, Logits, LogProbability, Loss, Prediction, Scalar
from localelastic.update import LossLike

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
        return LogProbability() if labels and not targets.is_floating_point() else Logits()
    raise SettingError(
        f"expected prediction= for outputs of shape {tuple(output.shape[1:])} per example; for a "
        "causal language model AnswerLogProbability(), else a function of the output"
    )


def as_examples(value: Any, name: str) -> Examples:
    """Examples as they are, or made from inputs.

    Raises:
        SettingError: ``None``.
    """
    if value is None:
        raise SettingError(f"expected {name} as Examples or inputs, got None")
    return value if isinstance(value, Examples) else Examples.of(value)


def expect_kinds(**arguments: tuple[object, Any]) -> None:
    """Refuse arguments of another kind, such as a name or a class where an object is due."""
    for name, (value, kind) in arguments.items():
        if not isinstance(value, kind):
            wanted = getattr(kind, "__name__", str(kind))
            hint = "; wrap tensors as Examples.of(...)" if "Examples" in wanted else ""
            got = " ".join(repr(value).split())[:80]
            raise SettingError(f"expected {name} to be of {wanted}, got {got}{hint}")


def expect_function(**arguments: object) -> None:
    """Refuse what can neither be called nor is one of our objects, and bare classes."""
    for name, value in arguments.items():
        known = callable(value) or isinstance(value, Prediction | Loss | Optimizer)
        wrong_class = isinstance(value, type) and not issubclass(value, Optimizer)
        if value is not None and (not known or wrong_class):
            got = " ".join(repr(value).split())[:80]
            raise SettingError(f"expected {name} to be an object or a function, got {got}")
