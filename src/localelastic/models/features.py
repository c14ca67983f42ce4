"""What a pretrained classifier sees in images, as inputs of a network of one's own."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import torch
from jaxtyping import Float, Shaped
from torch import Tensor, nn
from torch.nn import functional

from localelastic.data.scaling import Pixels
from localelastic.data.task import Task
from localelastic.errors import DataError, ModelError, expect_kinds
from localelastic.models.classifiers import SIDE, Classifier, last_linear, shipped_classifier
from localelastic.shapes import Inputs, Progress, silent

Images = Float[Tensor, "n channels height width"]
_ENLARGED = 4
"""How many times a small image is enlarged at most: more costs time and shows nothing new."""
_BLOCK = 50
_RANGES = {Pixels.SIGNED: (-1.0, 1.0), Pixels.UNIT: (0.0, 1.0), Pixels.RAW: (0.0, 255.0)}


@torch.inference_mode(mode=False)
def pretrained_features(
    images: Shaped[Tensor, "n *shape"],
    *,
    pixels: Pixels = Pixels.SIGNED,
    classifier: Classifier | None = None,
    progress: Progress = silent,
) -> Float[Tensor, "n d"]:
    """What the last layer of a classifier of photographs sees of each image, standardised.

    Each feature has mean 0 and deviation 1 over the images given; one that is the same in all of
    them is 0. The classifier knows the names of the things it was trained on: where the classes
    that are sought are among them, clusters of these features are no longer found without names.

    Args:
        images: ``(n, 1 or 3, height, width)``.
        pixels: the scale their values are on.
        classifier: EfficientNet-Lite0, trained on ImageNet, if ``None``.
        progress: called after each block of images.

    Returns:
        ``(n, d)``; of EfficientNet-Lite0 ``d`` is 1280.

    Raises:
        DataError: no images, or values beyond the scale, or not finite.
        ModelError: a classifier in train mode.
        SettingError: an argument of another kind; or no classifier was given, and its package is
            not installed.
    """
    expect_kinds(
        images=(images, Tensor), pixels=(pixels, Pixels), classifier=(classifier, Classifier | None)
    )
    if images.layout is not torch.strided or images.dtype is torch.bool or images.is_complex():
        raise DataError(
            "expected a dense tensor of numbers as images, got one of "
            f"{images.dtype} with layout {images.layout}; convert it first"
        )
    images = images if images.is_floating_point() else images.to(torch.get_default_dtype())
    check_images(images, pixels)
    classifier = shipped_classifier() if classifier is None else classifier
    if any(module.training for module in classifier.module.modules()):
        raise ModelError("expected a classifier in eval mode, got one that trains; call its eval()")
    seen, side = [], side_of(images.shape[1:])
    for block in images.split(_BLOCK):
        photographs = classifier.inputs(as_photographs(block, pixels, side=side))
        seen.append(penultimate(classifier.module, photographs))
        progress("features", min(len(seen) * _BLOCK, len(images)), len(images))
    features = torch.cat(seen)
    spread = features.std(0, correction=0)
    varies = spread > 1e-6 * features.abs().amax(0)
    return torch.where(varies, (features - features.mean(0)) / spread, 0.0).to(images.dtype)


def on_features(
    task: Task,
    *,
    pixels: Pixels = Pixels.SIGNED,
    classifier: Classifier | None = None,
    progress: Progress = silent,
) -> Task:
    """The same examples, of which a network sees the features of both sides taken together.

    Arguments and errors are those of :func:`pretrained_features`, and beside them:

    Raises:
        DataError: the classifier sees the same in all images.
    """
    n = len(task.primary)
    features = pretrained_features(
        torch.cat([task.primary.inputs, task.auxiliary.inputs]),
        pixels=pixels,
        classifier=classifier,
        progress=progress,
    )
    if not features.any():
        raise DataError(
            "expected a classifier that tells images apart, got the same features for all; are its "
            "weights those of a trained one?"
        )
    return Task(
        replace(task.primary, inputs=features[:n]), replace(task.auxiliary, inputs=features[n:])
    )


def check_images(images: Inputs, pixels: Pixels) -> None:
    """Refuse what a classifier of photographs cannot take.

    Raises:
        DataError: no images, or values beyond the scale.
    """
    if images.ndim != 4 or images.shape[1] not in (1, 3) or not images.numel():
        raise DataError(
            "a classifier of photographs expects images of shape (1 or 3, height, width), got "
            f"inputs of shape {tuple(images.shape[1:])}; leave the features out"
        )
    low, high = _RANGES[pixels]
    least, most = images.min().item(), images.max().item()
    if not isfinite(least) or not isfinite(most):
        raise DataError(
            "expected finite pixels, got NaN or infinity; remove or repair these images"
        )
    not_signed = pixels is Pixels.SIGNED and least >= 0  # else images would be seen half as dark
    if least < low - 1e-6 or most > high + 1e-6 or not_signed:
        raise DataError(
            f"a classifier of photographs expects {pixels.name.lower()} pixels from {low:g} to "
            f"{high:g}, got values from {least:g} to {most:g}; say that they are "
            f"{_likely(least, most)}, or give bytes"
        )


def _likely(least: float, most: float) -> str:
    """The scale that holds these values, in words."""
    if least >= 0 and most <= 255:
        scale = Pixels.UNIT if most <= 1 else Pixels.RAW
        return f"{scale.name.lower()} pixels"
    return "scaled to one of " + ", ".join(one.value for one in Pixels)


def side_of(shape: tuple[int, ...]) -> int:
    """Of the square that images of this shape are brought to: 224, or less for small ones."""
    wanted = _ENLARGED * max(shape[1:])
    return min(SIDE, 32 * -(-wanted // 32))


def as_photographs(
    images: Images, pixels: Pixels, *, side: int = SIDE
) -> Float[Tensor, "n 3 {side} {side}"]:
    """Images as a classifier of photographs takes them: square, three colours, 0 to 255.

    Args:
        images: ``(n, 1 or 3, height, width)``.
        pixels: the scale they are on.
        side: of the square, in pixels.
    """
    low, high = _RANGES[pixels]
    colours = ((images - low) / (high - low)).expand(-1, 3, -1, -1)
    smaller = max(images.shape[2:]) > side
    return 255 * functional.interpolate(colours, (side, side), mode="bilinear", antialias=smaller)


def penultimate(model: nn.Module, inputs: Inputs) -> Float[Tensor, "n h"]:
    """What the last linear layer of a network sees, ``(n, h)``.

    Raises:
        ModelError: the network has none.
    """
    seen: list[Tensor] = []
    last = last_linear(model)
    hook = last.register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    try:
        with torch.no_grad():
            for block in inputs.split(500):
                model(block)
    finally:
        hook.remove()
    return torch.cat(seen)
