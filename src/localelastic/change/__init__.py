"""Strategies: the change of prediction that a step causes."""

from localelastic.change.auto import Auto, Choice
from localelastic.change.gradient import Gradient
from localelastic.change.gram import gradient_gram
from localelastic.change.record import PredictionChange
from localelastic.change.replay import Replay
from localelastic.change.strategy import Question, Strategy

__all__ = [
    "Auto",
    "Choice",
    "Gradient",
    "PredictionChange",
    "Question",
    "Replay",
    "Strategy",
    "gradient_gram",
]
