"""``similarity_matrix``: a step on each primary example, and what it did to all the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from localelastic.change import (
    Auto,
    Changes,
    Choice,
    Question,
    Strategy,
    choice_of,
    has_slope,
)
from localelastic.data.examples import Examples
from localelastic.errors import MeasurementError, ModelError, SettingError, expect_kinds
from localelastic.matrix import (
    BlockStore,
    SimilarityMatrix,
    averaged,
    check_place,
    check_size,
    fingerprint_of,
    mean_of,
    place_of,
    without_excluded,
)
from localelastic.measure.resolve import (
    PredictionLike,
    expect_function,
    expect_progress,
    question_for,
)
from localelastic.models import ALL_LAYERS, Forward, stepping_on, turns
from localelastic.shapes import Progress, silent
from localelastic.similarity import Kernelized, SignedRelative, Similarity
from localelastic.trajectory import Frozen, Trajectory
from localelastic.update import (
    LossLike,
    Mode,
    Objective,
    OptimizerLike,
    Replica,
    is_plain,
    named,
)


@torch.inference_mode(mode=False)
def similarity_matrix(
    model: nn.Module,
    primary: Examples,
    auxiliary: Examples | None = None,
    *,
    loss: LossLike = None,
    prediction: PredictionLike = None,
    similarity: Similarity = Kernelized(),
    trajectory: Trajectory = Frozen(),
    strategy: Strategy | Auto = Auto(),
    optimizer: OptimizerLike = None,
    call: Callable[[nn.Module, Any], Any] | None = None,
    select: Callable[[Any], Tensor] | None = None,
    mode: Mode = None,
    layers: Sequence[str] | str = ALL_LAYERS,
    keep: str | Path | None = None,
    progress: Progress = silent,
) -> SimilarityMatrix:
    """The matrix S of Algorithm 1: step on each primary example, watch all the others.

    Args:
        model: any module; left bit for bit as it is.
        primary: ``n`` examples to step on and to watch; under one of our losses coded as primary
            unless they carry targets.
        auxiliary: the other side, stepped on in between by a sequential trajectory.
        loss: whose gradient the step follows: one of ours, or any ``loss(output, target)``. If
            ``None`` the squared loss for one output per example, else as in
            :func:`prediction_change`.
        prediction: what is watched, as in :func:`prediction_change`; the loss's own (output, or
            probability) if ``None``. Of a vector, relative similarity takes the length of changes.
        similarity: relative (eq. 2), kernelized (eq. 3) or another.
        trajectory: frozen, or sequential as Algorithm 1 is printed.
        strategy: how the changes are computed; ``Auto`` chooses and says why.
        optimizer: whose steps are taken instead of plain SGD, as in :func:`prediction_change`.
        call: ``call(model, inputs)``, if the model is called in another way than usual.
        select: the output among what the model returns.
        mode: ``None``, ``"eval"`` or ``"train"``, as in :func:`prediction_change`.
        layers: what steps move: ``"all"`` trainable weights, ``"all-but-convolutions"``, or those
            of named modules; ``"each"`` layer alone, in turn, gives the mean of their matrices,
            each over its mean self-similarity. In the limit of small steps all turns come from the
            same passes over the network; real steps are taken turn by turn. A layer through which
            no step has a meaning is left out of the mean, and ``strategy`` says so.
        keep: a folder for rows of real steps as they are finished: a measurement that was killed
            goes on from there when it is started again, with the same numbers. Strategies that
            take no real steps are done in one go and keep nothing; the result says so.
        progress: told as the work goes on.

    Returns:
        ``(n, n)`` values, rows the example stepped on; examples whose step has no meaning are left
        out and listed with their reason.

    Raises:
        InputError: model, examples or settings that cannot be measured, before any work.
        OutputError: rows cannot be kept, or ``keep`` holds those of another measurement.
        MeasurementError: no step had a meaning.

    Example:
        A linear model's gradient similarity is ``x x' + 1``:

        >>> import torch
        >>> points = Examples.of(torch.tensor([[1.0], [2.0]]))
        >>> similarity_matrix(nn.Linear(1, 1), points).values.tolist()
        [[2.0, 3.0], [3.0, 5.0]]
    """
    expect_kinds(
        primary=(primary, Examples),
        auxiliary=(auxiliary, Examples | None),
        similarity=(similarity, Similarity),
        trajectory=(trajectory, Trajectory),
        strategy=(strategy, Strategy | Auto),
        layers=(layers, str | Sequence),
        keep=(keep, str | Path | None),
    )
    expect_function(loss=loss, optimizer=optimizer, prediction=prediction, call=call, select=select)
    expect_progress(progress)
    if trajectory.moves and auxiliary is None:
        raise SettingError(
            "a sequential trajectory steps on auxiliary examples too, got none; "
            "pass them, or use the frozen trajectory"
        )
    forward = Forward(call, select)
    question, output = question_for(
        model,
        Replica(model, forward=forward, mode=mode),
        primary,
        auxiliary,
        loss=loss,
        prediction=prediction,
        trajectory=trajectory,
        optimizer=optimizer,
        forward=forward,
        mode=mode,
    )
    _expect_fitting(similarity, question, output)
    moved = turns(model, layers)
    check_place(keep, layer=len(moved))
    with stepping_on(model, moved[0]):  # every turn asks the same of a strategy
        choice = choice_of(strategy, question)
    if len(moved) > 1:
        _expect_whole(model, optimizer)
    used = choice.strategy
    together = used.together(question, moved, progress) if len(moved) > 1 else None
    found: list[SimilarityMatrix] = []
    lost: dict[str, MeasurementError | ModelError] = {}
    for number, turn in enumerate(moved):
        try:
            with stepping_on(model, turn):
                changes = None if together is None else together[number]
                place = place_of(keep, "layer", number, len(moved))
                one = _of_turn(question, choice, similarity, primary.ids, changes, place, progress)
            if len(moved) > 1:
                check_size(one)
            found.append(one)
        except (MeasurementError, ModelError) as error:  # this layer has no vote
            lost[", ".join(turn)] = error
    if not found:
        raise next(iter(lost.values()))
    mean = mean_of(found, "layers")
    if not lost:
        return mean
    why = "; ".join(f"{name}: {error}" for name, error in lost.items())
    return replace(
        mean, strategy=f"{mean.strategy}; {len(lost)} of {len(moved)} layers have no vote ({why})"
    )


def _expect_whole(model: nn.Module, optimizer: OptimizerLike) -> None:
    """Refuse an optimizer that has nothing to do in some turn.

    Raises:
        SettingError: it leaves trainable weights out.
    """
    if isinstance(optimizer, Optimizer):
        its = {id(p) for group in optimizer.param_groups for p in group["params"]}
        left_out = [
            name for name, p in model.named_parameters() if p.requires_grad and id(p) not in its
        ]
        if left_out:
            raise SettingError(
                "steps on each layer in turn need an optimizer of all trainable weights, got one "
                f"without {', '.join(left_out[:5])}; make it from model.parameters(), or name "
                "layers="
            )


def _of_turn(
    question: Question,
    choice: Choice,
    similarity: Similarity,
    ids: tuple[str, ...],
    changes: Changes | None,
    place: Path | None,
    progress: Progress,
) -> SimilarityMatrix:
    """The matrix by steps on what is trainable now; ``changes`` if they are known already."""
    used, store, unkept = choice.strategy, None, ""
    if place is not None and used.keeps:
        store = BlockStore(place, fingerprint_of(question, used))
    elif place is not None:
        unkept = "no rows kept: computed in one go"
    passes = used.changes(question, progress, store) if changes is None else [changes]
    values, reasons, way, trust = averaged(passes, similarity, ids)
    words = f"{used.name} ({'; '.join(filter(None, (choice.why, way, unkept)))})"
    return without_excluded(values, reasons, ids, similarity, words, used.exact, used.lr, trust)


def _expect_fitting(similarity: Similarity, question: Question, output: Tensor) -> None:
    """Refuse a similarity whose equation has no meaning for the question.

    Raises:
        SettingError: no slope or no plain step size to divide by, or no sign to keep.
    """
    name = similarity.name
    if isinstance(similarity, SignedRelative):
        target = question.task.targets
        target = None if target is None else target[:1]
        if question.prediction.value(question.prediction.kept(output, target), target).ndim > 1:
            raise SettingError(
                f"the {name} similarity needs a prediction with a sign, got the vector "
                f"{question.prediction.name}; watch one class, or use Relative()"
            )
    if not similarity.is_kernel:
        return
    if not has_slope(question.loss, question.prediction):
        raise SettingError(
            f"the {name} similarity divides by the slope of the loss at the prediction, got "
            f"{question.prediction.name} with {Objective(question.loss).name}, which has none; "
            "use Relative()"
        )
    if question.optimizer is not None:
        bound = Replica(question.model, optimizer=question.optimizer, mode=question.mode).optimizer
        if is_plain(bound) is None:
            raise SettingError(
                f"the {name} similarity (eq. 3) is of plain gradient steps, got "
                f"{named(question.optimizer)}; use Relative()"
            )
