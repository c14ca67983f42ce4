"""Take one gradient step on one example: how does every other prediction move?

The paper: H. He and W. J. Su, "The Local Elasticity of Neural Networks", ICLR 2020.
"""

from importlib.metadata import version

from localelastic.change import Auto, ClosedForm, Gradient, Replay
from localelastic.change.effect import PredictionChange
from localelastic.cluster import (
    KernelKMeans,
    KMeans,
    LocalElasticityClustering,
    Neighbours,
    chance_accuracy,
    clustering_accuracy,
    suggest_clusters,
)
from localelastic.data import (
    GEOMETRIES,
    Examples,
    FirstSampling,
    Geometry,
    GeometrySample,
    Pixels,
    RandomSampling,
    Task,
    load_examples,
    load_mnist,
    primary_vs_auxiliary,
)
from localelastic.errors import (
    ClassError,
    DataError,
    InputError,
    LocalElasticError,
    MeasurementError,
    MemoryBudgetError,
    ModelError,
    OutputError,
    ReadError,
    SettingError,
)
from localelastic.matrix import SimilarityMatrix
from localelastic.measure import Preflight, prediction_change, preflight, similarity_matrix
from localelastic.models import (
    CNN,
    Activation,
    AnswerLogProbability,
    CrossEntropy,
    Logits,
    LogProbability,
    OneClass,
    Probability,
    ResNet,
    Scalar,
    SquaredLoss,
    ThreeLayer,
    TwoLayer,
    WarmUp,
    pretrained_features,
    published_warm_up,
    warm_up,
)
from localelastic.models.classifiers import Classifier, load_classifier, shipped_classifier
from localelastic.similarity import (
    CentredKernelized,
    Kernelized,
    NormalizedKernelized,
    Relative,
    SignedRelative,
)
from localelastic.trajectory import Frozen, InOrder, Sequential

__version__ = version("localelastic")

__all__ = [
    "CNN",
    "GEOMETRIES",
    "Activation",
    "AnswerLogProbability",
    "Auto",
    "CentredKernelized",
    "ClassError",
    "Classifier",
    "ClosedForm",
    "CrossEntropy",
    "DataError",
    "Examples",
    "FirstSampling",
    "Frozen",
    "Geometry",
    "GeometrySample",
    "Gradient",
    "InOrder",
    "InputError",
    "KMeans",
    "KernelKMeans",
    "Kernelized",
    "LocalElasticError",
    "LocalElasticityClustering",
    "LogProbability",
    "Logits",
    "MeasurementError",
    "MemoryBudgetError",
    "ModelError",
    "Neighbours",
    "NormalizedKernelized",
    "OneClass",
    "OutputError",
    "Pixels",
    "PredictionChange",
    "Preflight",
    "Probability",
    "RandomSampling",
    "ReadError",
    "Relative",
    "Replay",
    "ResNet",
    "Scalar",
    "Sequential",
    "SettingError",
    "SignedRelative",
    "SimilarityMatrix",
    "SquaredLoss",
    "Task",
    "ThreeLayer",
    "TwoLayer",
    "WarmUp",
    "chance_accuracy",
    "clustering_accuracy",
    "load_classifier",
    "load_examples",
    "load_mnist",
    "prediction_change",
    "preflight",
    "pretrained_features",
    "primary_vs_auxiliary",
    "published_warm_up",
    "shipped_classifier",
    "similarity_matrix",
    "suggest_clusters",
    "warm_up",
]
