"""Strategies: the change of prediction that a step causes."""

from localelastic.change.auto import Auto, Choice, choice_of
from localelastic.change.first_order import first_order
from localelastic.change.gradient import Gradient
from localelastic.change.gram import gradient_gram
from localelastic.change.keep import Block, Keep
from localelastic.change.noise import noise_floor
from localelastic.change.record import Changes
from localelastic.change.replay import Replay
from localelastic.change.slope import has_slope
from localelastic.change.strategy import Question, Strategy
from localelastic.change.two_layer import ClosedForm

__all__ = [
    "Auto",
    "Block",
    "Changes",
    "Choice",
    "ClosedForm",
    "Gradient",
    "Keep",
    "Question",
    "Replay",
    "Strategy",
    "choice_of",
    "first_order",
    "gradient_gram",
    "has_slope",
    "noise_floor",
]
