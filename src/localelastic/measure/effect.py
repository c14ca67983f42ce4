"""``prediction_change``: one step, and what else moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from localelastic.change import first_order as first_order_of
from localelastic.change import noise_floor
from localelastic.change.effect import PredictionChange
from localelastic.change.noise import size_of
from localelastic.data.nested import length, rows_of
from localelastic.errors import DataError, MeasurementError, SettingError
from localelastic.measure.resolve import (
    PredictionLike,
    as_examples,
    expect_function,
    expect_progress,
    loss_for,
    prediction_for,
)
from localelastic.models import (
    AnswerLogProbability,
    Custom,
    Forward,
    Prediction,
    Probability,
    kullback_leibler,
)
from localelastic.shapes import Progress, silent
from localelastic.update import (
    LossLike,
    Mode,
    Objective,
    OptimizerLike,
    Replica,
    broadcast_note,
    named,
)


@torch.inference_mode(mode=False)
def prediction_change(
    model: nn.Module,
    step_on: Any,
    probes: Any,
    *,
    loss: LossLike = None,
    optimizer: OptimizerLike = None,
    lr: float | None = None,
    prediction: PredictionLike = None,
    call: Callable[[nn.Module, Any], Any] | None = None,
    select: Callable[[Any], Tensor] | None = None,
    mode: Mode = None,
    dtype: torch.dtype | None = None,
    batch_size: int = 500,
    first_order: bool = True,
    progress: Progress = silent,
) -> PredictionChange:
    """Take one step on an example or a mini-batch: how does every other prediction move?

    ``f(x', w+) - f(x', w)`` at every probe ``x'``, by a real step of a real optimizer on a private
    copy of the model, then forward again; beside it the first order of the same step.

    Args:
        model: any module; it, its gradients and its optimizer are left bit for bit as they are.
        step_on: the example, or the mini-batch whose mean loss the step goes down: ``Examples``, or
            inputs as the model takes them (a tensor, tuple, mapping ... with the examples along
            the first axis). Targets come with ``Examples.of(inputs, targets=...)``.
        probes: where to look, likewise.
        loss: ``loss(output, target)``, of PyTorch or your own. If ``None``: the loss that the model
            returns when labels are among its inputs; cross-entropy for classes; the squared loss
            for one output per example.
        optimizer: an optimizer of this model, whose momentum and other state count as they are, or
            a function of parameters that makes one. If ``None`` plain SGD.
        lr: step size of plain SGD, 0.01 if ``None``; never altered.
        prediction: what is watched: ``Scalar()``, ``Probability()``, ``Logits()``,
            ``LogProbability()`` of the target, ``OneClass(k)``, ``AnswerLogProbability()``, or a
            function of the output. If ``None`` the output where it is one number, the
            log-probability where probes have target classes, else all logits.
        call: ``call(model, inputs)``, if the model is called in another way than usual.
        select: the output among what the model returns; its ``logits`` or first tensor if ``None``.
        mode: ``None`` keeps train or eval of each sub-module as it is and refuses batch statistics;
            ``"eval"`` measures in eval mode, ``"train"`` with batch statistics.
        dtype: precision; the model's own if ``None``. ``torch.float64`` resolves tiny changes.
        batch_size: probes per forward pass, the same before and after.
        first_order: whether to compute the first order too, at the cost of about four forward
            passes.
        progress: told as the work goes on.

    Returns:
        The change of every probe with its noise floor; see :class:`PredictionChange`.

    Raises:
        InputError: model, examples or settings that cannot be measured.
        MeasurementError: predictions that are not finite after the step.

    Example:
        A step on ``x = 1`` moves ``f(x') = w x' + b`` by ``-lr (f - y) (x x' + 1)``:

        >>> line = nn.Linear(1, 1)
        >>> line.load_state_dict({"weight": torch.zeros(1, 1), "bias": torch.zeros(1)})
        <All keys matched successfully>
        >>> found = prediction_change(line, torch.ones(1, 1), torch.tensor([[1.0], [3.0]]), lr=0.1)
        >>> found.change.round(6).tolist()
        [0.2, 0.4]
    """
    expect_function(loss=loss, optimizer=optimizer, prediction=prediction, call=call, select=select)
    expect_progress(progress)
    if not isinstance(first_order, bool):
        raise SettingError(f"expected first_order to be True or False, got {first_order!r}")
    stepped, probed = as_examples(step_on, "step_on"), as_examples(probes, "probes")
    replica = Replica(
        model,
        optimizer=optimizer,
        lr=lr,
        dtype=dtype,
        batch_size=batch_size,
        forward=Forward(call, select),
        mode=mode,
    )
    own = _Side("step_on", replica, stepped.inputs, stepped.targets)
    other = _Side("probes", replica, probed.inputs, probed.targets)
    output = replica.outputs(own.first())
    watched = prediction_for(prediction, loss, output, other.goals)
    loss = loss_for(loss, output, own.targets)
    if loss is None and isinstance(watched, AnswerLogProbability) and own.targets is not None:
        loss = answer_cross_entropy
    objective = Objective(loss)
    progress("predictions", 0, 2)
    kept, before = own.kept(watched), other.kept(watched)
    _expect_finite(before, probed.ids, "before the step; repair the model or these probes")
    floor = noise_floor(replica, other.inputs, other.goals, watched, before)
    paid = replica.step(own.inputs, own.targets, objective)
    progress("predictions", 1, 2)
    shift, own_shift = other.kept(watched) - before, own.kept(watched) - kept
    _expect_finite(shift, probed.ids, "after the step: it diverged, take a smaller step size")
    progress("predictions", 2, 2)
    share, linear, way = replica.moved_share(), None, ""
    if first_order:
        move = replica.move()
        replica.restore()
        linear, how = first_order_of(
            replica, other.inputs, other.goals, watched, move, progress=progress
        )
        way = f"; first order: {how}"
    kl = _divergence(watched, before, shift)
    own_kl = _divergence(watched, kept, own_shift)
    size = "" if optimizer is not None else f" with lr={0.01 if lr is None else lr:g}"
    return PredictionChange(
        ids=probed.ids,
        step_ids=stepped.ids,
        prediction=watched.name,
        before=_array(watched.value(before, other.goals)),
        change=_array(watched.change(before, shift, other.goals)),
        self_change=_array(watched.change(kept, own_shift, own.goals)),
        kl=None if kl is None else _array(kl),
        self_kl=None if own_kl is None else _array(own_kl),
        first_order=None if linear is None else _array(linear),
        noise_floor=_array(floor),
        moved_share=share,
        loss=paid,
        step=f"{named(optimizer)}{size} on the {objective.name}",
        strategy=f"replay (a real step, then forward again{way})",
        notes=(
            *filter(None, [broadcast_note(loss, output, own.targets)]),
            *_notes(replica, share, floor, watched.change(before, shift, other.goals)),
        ),
    )


class _Side:
    """Examples on the copy's device.

    ``goals`` are the targets of a prediction: labels among the inputs, by which a model computes
    its own loss, are targets too.
    """

    def __init__(self, name: str, replica: Replica, inputs: Any, targets: Any) -> None:
        self._name = name
        self._replica, self.inputs = replica, replica.place(inputs)
        self.targets = None if targets is None else replica.place(targets)
        labels = self.inputs.get("labels") if isinstance(self.inputs, Mapping) else None
        self.goals = self.targets if labels is None else labels

    def first(self) -> Any:
        """One example."""
        return rows_of(self.inputs, slice(0, min(2, length(self.inputs))))

    def kept(self, watched: Prediction) -> Tensor:
        """What the prediction keeps of the outputs, in float64."""
        if watched.needs_target:
            try:
                output = self._replica.outputs(self.first()).double()
                watched.check(output, self.goals)
                watched.of(output, self._first_goals())
            except DataError as error:
                raise DataError(f"in {self._name}: {error}") from None
        return self._replica.outputs(self.inputs, watched.kept, self.goals)

    def _first_goals(self) -> Any:
        return None if self.goals is None else self.goals[: length(self.first())]


def answer_cross_entropy(output: Tensor, target: Tensor) -> Tensor:
    """Minus the log-probability of the answer."""
    return -AnswerLogProbability().of(output, target)


def _divergence(watched: Prediction, output: Tensor, shift: Tensor) -> Tensor | None:
    """KL where there are class logits: two or more, or the one of a probability."""
    if isinstance(watched, Custom | AnswerLogProbability):
        return None
    if output.ndim == 2 and output.shape[1] > 1:
        return kullback_leibler(output, shift)
    if output.ndim == 1 and isinstance(watched, Probability):
        rest = torch.zeros_like(output)
        return kullback_leibler(torch.stack([output, rest], 1), torch.stack([shift, rest], 1))
    return None


def _expect_finite(values: Tensor, ids: tuple[str, ...], when: str) -> None:
    bad = (~torch.isfinite(values)).flatten(1).any(1) if values.ndim > 1 else ~values.isfinite()
    if bad.any():
        names = [ids[i] for i in bad.nonzero().flatten().tolist()]
        raise MeasurementError(
            f"{len(names)} of {len(ids)} predictions are not finite (first: {names[0]}) {when}"
        )


def _notes(replica: Replica, share: float, floor: Tensor, change: Tensor) -> tuple[str, ...]:
    notes, exact = [], replica.output_dtype == torch.float64
    if replica.writes_weights:
        notes.append(
            "the forward pass itself writes into parameters, which counts as change and as move"
        )
    if share == 0:
        notes.append("the step changed no weight: its gradient is zero, or lost to rounding")
    elif share < 0.5:
        lost = "" if exact else " or lost it to rounding (dtype=torch.float64 tells which)"
        notes.append(f"the step changed {share:.1%} of the weights; the rest had no gradient{lost}")
    hidden = int((size_of(change) <= floor).sum())
    if hidden:
        notes.append(
            f"{hidden} of {len(floor)} changes are below the noise floor"
            + ("" if exact else "; dtype=torch.float64 lowers it")
        )
    return tuple(notes)


def _array(values: Tensor) -> Any:
    return values.detach().double().cpu().numpy()
