"""The plug point: a strategy turns (model, examples, trajectory) into changes of prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from localelastic.change.keep import Keep
from localelastic.change.record import Changes
from localelastic.models import PLAIN, Coded, Forward, Loss, Prediction, ScalarPrediction
from localelastic.shapes import Progress
from localelastic.trajectory import Trajectory
from localelastic.update import LossLike, Mode, Objective, OptimizerLike, named


@dataclass(frozen=True, eq=False)
class Question:
    """What is to be measured.

    Args:
        model: never modified.
        task: primary examples, stepped on and probed, then the auxiliary ones that a moving
            trajectory steps on in between; with targets.
        loss: whose gradient the step follows.
        prediction: what is watched.
        trajectory: which weights each step starts from.
        optimizer: whose step is taken; plain SGD with the strategy's step size if ``None``.
        forward: how the model is called and what of it is the output.
        mode: train or eval, where that matters.
    """

    model: nn.Module
    task: Coded
    loss: LossLike
    prediction: Prediction
    trajectory: Trajectory
    optimizer: OptimizerLike = None
    forward: Forward = PLAIN
    mode: Mode = None

    @property
    def special(self) -> str | None:
        """What only a real step answers, if anything: all else has one output and a known loss."""
        if self.optimizer is not None:
            return f"the optimizer is {named(self.optimizer)}"
        if not isinstance(self.loss, Loss):
            return f"the loss is {Objective(self.loss).name}"
        if not isinstance(self.prediction, ScalarPrediction):
            return f"the prediction is {self.prediction.name}"
        if not isinstance(self.task.inputs, Tensor):
            return "the inputs are more than one tensor"
        if self.forward != PLAIN or self.mode is not None:
            return "the forward pass is not the model's own"
        return None


class Strategy(ABC):
    """A way to compute the changes of prediction.

    ``exact`` says whether the result is that of the finite step or its first order in ``lr``.
    """

    name: ClassVar[str]
    exact: ClassVar[bool]
    lr: float | None = None
    """The size of the step, where one is taken."""

    keeps: ClassVar[bool] = False
    """Whether finished rows are kept: those of real steps, one by one; others take one go."""

    @abstractmethod
    def changes(
        self, question: Question, progress: Progress, keep: Keep | None = None
    ) -> Iterator[Changes]:
        """One record per pass of the trajectory; ``keep`` is for strategies that say so."""

    def together(
        self, question: Question, turns: Sequence[Sequence[str]], progress: Progress
    ) -> list[Changes] | None:
        """Where several turns take one go: the changes of each; else ``None``.

        Args:
            question: what is measured.
            turns: what steps move, one after the other, as for
                :func:`localelastic.models.stepping_on`; no weight has two turns.
            progress: told as the work goes on.
        """
        return None
