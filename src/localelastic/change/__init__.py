"""Strategies: the change of prediction that a step causes."""

from localelastic.change.auto import DEFAULT_LR, Auto, Choice, choice_of
from localelastic.change.gradient import Gradient
from localelastic.change.gram import gradient_gram
from localelastic.change.record import PredictionChange
from localelastic.change.replay import Replay
from localelastic.change.strategy import Question, Strategy
from localelastic.change.two_layer import ClosedForm

__all__ = [
    "DEFAULT_LR",
    "Auto",
    "Choice",
    "ClosedForm",
    "Gradient",
    "PredictionChange",
    "Question",
    "Replay",
    "Strategy",
    "choice_of",
    "gradient_gram",
]
