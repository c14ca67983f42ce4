"""First order: the inner product of gradients that eq. 3 tends to as ``lr`` goes to zero."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from localelastic.change.gram import grams_and_way
from localelastic.change.keep import Keep
from localelastic.change.record import Changes
from localelastic.change.strategy import Question, Strategy
from localelastic.change.watched import Watched
from localelastic.data.nested import rows_of
from localelastic.errors import SettingError
from localelastic.models import ALL_LAYERS, ScalarPrediction, stepping_on
from localelastic.shapes import Progress
from localelastic.update import Replica, named


@dataclass(frozen=True)
class Gradient(Strategy):
    """``<df(x)/dw, df(x')/dw>`` of every pair, layer by layer; no step is taken.

    In frozen mode this is the limit of the kernelized similarity for small steps, without their
    rounding, and needs neither a step size nor a target. The change is given per unit of
    ``lr dL/df``, that is ``-<., .>``.

    Args:
        dtype: precision of the gradients; the model's own if ``None``. Sums are in float64.
        memory: bytes to work in, beside the model and the result; if ``None`` 4 GiB, or a quarter
            of what is free where that is less.
    """

    dtype: torch.dtype | None = None
    memory: int | None = None
    name = "gradient"
    exact = False

    def changes(
        self, question: Question, progress: Progress, keep: Keep | None = None
    ) -> Iterator[Changes]:
        """One pass.

        Raises:
            SettingError: the trajectory moves its weights.
        """
        yield self.together(question, [[ALL_LAYERS]], progress)[0]

    def together(
        self, question: Question, turns: Sequence[Sequence[str]], progress: Progress
    ) -> list[Changes]:
        """The Gram matrices of all turns, from the passes over the network that one takes.

        Raises:
            SettingError: the trajectory moves its weights.
        """
        if question.trajectory.moves:
            raise SettingError(
                "the gradient similarity is taken at fixed weights, got a sequential trajectory; "
                "use the frozen trajectory, or Replay(lr=...)"
            )
        if question.optimizer is not None:
            raise SettingError(
                f"the gradient similarity takes no step, got {named(question.optimizer)}; "
                "use Replay()"
            )
        replica = Replica(
            question.model, dtype=self.dtype, forward=question.forward, mode=question.mode
        )
        moved = [_moved(replica.model, turn) for turn in turns]
        inputs = replica.place(rows_of(question.task.inputs, slice(0, question.task.n_primary)))
        if question.special is None:
            assert isinstance(question.prediction, ScalarPrediction)
            slope = question.prediction.slope(replica.outputs(inputs).double())
            watched = replica.model
        else:
            targets = question.task.targets
            targets = None if targets is None else targets[: question.task.n_primary]
            watched = Watched(replica.model, question.forward, question.prediction)
            inputs = (inputs, replica.place(targets))
            slope = torch.ones(question.task.n_primary, dtype=torch.float64, device=replica.device)
        grams, way = grams_and_way(watched, inputs, moved, memory=self.memory, progress=progress)
        return [_changes(gram, slope, way) for gram in grams]


def _moved(model: nn.Module, turn: Sequence[str]) -> list[Tensor]:
    with stepping_on(model, turn):
        return [p for p in model.parameters() if p.requires_grad]


def _changes(gram: Tensor, slope: Tensor, way: str) -> Changes:
    change = (-slope[:, None] * gram * slope[None, :]).cpu().numpy()
    reasons = [_reason(row, value) for row, value in zip(change, change.diagonal(), strict=True)]
    change[[reason is not None for reason in reasons]] = 0.0
    return Changes(change, change.diagonal().copy(), np.ones(len(change)), tuple(reasons), way)


def _reason(row: np.ndarray, self_change: float) -> str | None:
    if not np.isfinite(row).all():
        return "a gradient is not finite"
    return "no self-change: the gradient is zero" if self_change == 0 else None
