"""The plug point: a strategy turns (model, examples, trajectory) into changes of prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from localelastic.change.record import PredictionChange
from localelastic.models import Coded, Loss, Prediction
from localelastic.shapes import Progress
from localelastic.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be measured.

    Args:
        model: one output per example; never modified.
        task: primary examples, stepped on and probed, then the auxiliary ones that a moving
            trajectory steps on in between; with targets.
        loss: whose gradient the step follows.
        prediction: what is watched.
        trajectory: which weights each step starts from.
    """

    model: nn.Module
    task: Coded
    loss: Loss
    prediction: Prediction
    trajectory: Trajectory


class Strategy(ABC):
    """A way to compute the changes of prediction.

    ``exact`` says whether the result is that of the finite step or its first order in ``lr``.
    """

    name: ClassVar[str]
    exact: ClassVar[bool]
    lr: float | None = None
    """The size of the step, where one is taken."""

    @abstractmethod
    def changes(self, question: Question, progress: Progress) -> Iterator[PredictionChange]:
        """One record per pass of the trajectory."""
