"""The networks of the paper, predictions, losses and warm-up training."""

from localelastic.models.coding import Coded, code
from localelastic.models.losses import LOSSES, CrossEntropy, Loss, SquaredLoss
from localelastic.models.networks import (
    CNN,
    NETWORKS,
    Activation,
    ResNet,
    ThreeLayer,
    TwoLayer,
    build_network,
    default_network,
    takes_images,
)
from localelastic.models.output import check_differentiable, outputs_of
from localelastic.models.prediction import Prediction, Probability, Scalar
from localelastic.models.stability import sharpness
from localelastic.models.structure import Layers, two_layer
from localelastic.models.warm_up import (
    TrainingRecord,
    WarmUp,
    published_warm_up,
    warm_up,
)

__all__ = [
    "CNN",
    "LOSSES",
    "NETWORKS",
    "Activation",
    "Coded",
    "CrossEntropy",
    "Layers",
    "Loss",
    "Prediction",
    "Probability",
    "ResNet",
    "Scalar",
    "SquaredLoss",
    "ThreeLayer",
    "TrainingRecord",
    "TwoLayer",
    "WarmUp",
    "build_network",
    "check_differentiable",
    "code",
    "default_network",
    "outputs_of",
    "published_warm_up",
    "sharpness",
    "takes_images",
    "two_layer",
    "warm_up",
]
