"""The networks of the paper, predictions, losses and warm-up training."""

from localelastic.models.class_prediction import (
    IGNORED,
    AnswerLogProbability,
    Custom,
    Logits,
    LogProbability,
    OneClass,
    are_labels,
    check_labels,
)
from localelastic.models.coding import Coded, as_given, code
from localelastic.models.losses import LOSSES, CrossEntropy, Loss, SquaredLoss
from localelastic.models.networks import (
    CNN,
    NETWORKS,
    PUBLISHED_WIDTHS,
    Activation,
    ResNet,
    ThreeLayer,
    TwoLayer,
    build_network,
    default_network,
    takes_images,
)
from localelastic.models.output import (
    PLAIN,
    Forward,
    arguments_of,
    check_differentiable,
    outputs_of,
    own_loss,
)
from localelastic.models.prediction import Prediction, Probability, Scalar, ScalarPrediction
from localelastic.models.softmax import kullback_leibler
from localelastic.models.stability import sharpness
from localelastic.models.stepping import (
    ALL_LAYERS,
    DENSE_LAYERS,
    EACH_LAYER,
    layers_of,
    stepping_on,
    turns,
)
from localelastic.models.structure import Layers, two_layer
from localelastic.models.warm_up import (
    PHOTOGRAPHS,
    TrainingRecord,
    WarmUp,
    published_warm_up,
    warm_up,
)

__all__ = [
    "ALL_LAYERS",
    "CNN",
    "DENSE_LAYERS",
    "EACH_LAYER",
    "IGNORED",
    "LOSSES",
    "NETWORKS",
    "PHOTOGRAPHS",
    "PLAIN",
    "PUBLISHED_WIDTHS",
    "Activation",
    "AnswerLogProbability",
    "Coded",
    "CrossEntropy",
    "Custom",
    "Forward",
    "Layers",
    "LogProbability",
    "Logits",
    "Loss",
    "OneClass",
    "Prediction",
    "Probability",
    "ResNet",
    "Scalar",
    "ScalarPrediction",
    "SquaredLoss",
    "ThreeLayer",
    "TrainingRecord",
    "TwoLayer",
    "WarmUp",
    "are_labels",
    "arguments_of",
    "as_given",
    "build_network",
    "check_differentiable",
    "check_labels",
    "code",
    "default_network",
    "kullback_leibler",
    "layers_of",
    "outputs_of",
    "own_loss",
    "published_warm_up",
    "sharpness",
    "stepping_on",
    "takes_images",
    "turns",
    "two_layer",
    "warm_up",
]
