"""One real optimizer step, on a private copy: the caller's model is never touched."""

from localelastic.update.gradients import gradients
from localelastic.update.modes import Mode, by_batch
from localelastic.update.objective import LossLike, Objective, StepRefusedError, default_loss
from localelastic.update.optimizer import (
    DEFAULT_LR,
    OptimizerLike,
    check_lr,
    is_plain,
    named,
    parameters_of,
)
from localelastic.update.repeatable import repeatable
from localelastic.update.replica import Replica
from localelastic.update.target_shapes import broadcast_note

__all__ = [
    "DEFAULT_LR",
    "LossLike",
    "Mode",
    "Objective",
    "OptimizerLike",
    "Replica",
    "StepRefusedError",
    "broadcast_note",
    "by_batch",
    "check_lr",
    "default_loss",
    "gradients",
    "is_plain",
    "named",
    "parameters_of",
    "repeatable",
]
