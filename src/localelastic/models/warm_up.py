"""Warm-up: train a network to tell primary from auxiliary examples before it is measured."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf, isfinite

import torch
from torch import nn

from localelastic.data.examples import Examples
from localelastic.errors import DataError, MeasurementError, ModelError, SettingError
from localelastic.models.augment import varied
from localelastic.models.coding import code
from localelastic.models.descent import descent
from localelastic.models.losses import Loss
from localelastic.models.networks import takes_images
from localelastic.models.output import outputs_of
from localelastic.models.stability import sharpness
from localelastic.shapes import Inputs, PerExample, Progress, silent

DEFAULT_LR = 0.01
_SAMPLE = 100


@dataclass(frozen=True)
class WarmUp:
    """Mini-batch SGD on the mean loss, reshuffled each epoch.

    The default is ours: it fits the shipped digits to a training accuracy of 0.998 and more, and
    clusters them far better than the published settings (see :func:`published_warm_up`).

    Args:
        epochs: passes over both sides; 0 leaves the network as it is.
        lr: step size. ``None``: 0.01, or a quarter of the stability limit of the untrained network
            where that is less (wide networks, large inputs); the record says which was taken.
        momentum: of SGD.
        batch_size: examples per step.
        shift: pixels by which each image is moved at most, anew in every epoch, see
            :func:`localelastic.models.augment.varied`.
        flip: whether every other image is mirrored left to right.

    Raises:
        SettingError: a negative number of epochs or pixels, or a step or batch size that is not
            positive.
    """

    epochs: int = 12
    lr: float | None = None
    momentum: float = 0.9
    batch_size: int = 50
    shift: int = 0
    flip: bool = False

    def __post_init__(self) -> None:
        if self.epochs < 0 or self.batch_size < 1 or self.shift < 0:
            raise SettingError(
                "warm-up expects epochs >= 0, batch_size >= 1 and shift >= 0, "
                f"got epochs={self.epochs}, batch_size={self.batch_size}, shift={self.shift}"
            )
        if not 0 < (self.lr or DEFAULT_LR) < inf or self.lr == 0 or not 0 <= self.momentum < 1:
            raise SettingError(
                "warm-up expects a positive lr and a momentum in [0, 1), "
                f"got lr={self.lr}, momentum={self.momentum}"
            )

    @property
    def varies(self) -> bool:
        """Whether images are shown as they might have been taken."""
        return self.shift > 0 or self.flip

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse inputs that cannot be moved and mirrored, where they are to be.

        Args:
            shape: of one input.

        Raises:
            SettingError: they are no images, or too small.
        """
        if self.varies and (len(shape) != 3 or self.shift >= min(shape[1:])):
            raise SettingError(
                "expected images (channels, height, width) of more pixels than shift to be moved "
                f"or mirrored, got inputs of shape {tuple(shape)} with shift={self.shift}; take a "
                "warm-up without shift and flip (--warm-up ours)"
            )


PHOTOGRAPHS = WarmUp(epochs=24, shift=3, flip=True)
"""For photographs of things that may stand a little to the side, or the other way round."""


def default_warm_up(shape: tuple[int, ...], *, convolutions: bool) -> WarmUp:
    """``PHOTOGRAPHS`` for a network of convolutions on images of three colours, else ``WarmUp()``.

    Args:
        shape: of one input.
        convolutions: whether the network has some, so that it can make use of moved images.
    """
    colours = takes_images(shape) and shape[0] == 3
    return PHOTOGRAPHS if convolutions and colours else WarmUp()


@dataclass(frozen=True)
class TrainingRecord:
    """How a warm-up went.

    Args:
        losses: mean loss of each epoch, taken while it ran.
        accuracy: share of training examples whose output lies on the right side afterwards.
        lr: the step size taken; zero without epochs.
    """

    losses: tuple[float, ...]
    accuracy: float
    lr: float


def published_warm_up(network: str, loss: str) -> WarmUp:
    """The settings of the paper's published scripts for MNIST, plain SGD.

    Their squared error has no 1/2, so their step of 3e-3 is 6e-3 on our loss.

    Args:
        network: a name of ``NETWORKS``.
        loss: a name of ``LOSSES``.
    """
    two_layer = network.startswith("two-layer")
    linear = network == "two-layer-linear"
    epochs = 50 if two_layer and loss == "cross-entropy" else 200
    lr = 3e-5 if linear and loss == "squared" else 3e-3
    halved = 2.0 if loss == "squared" else 1.0
    return WarmUp(epochs, lr * halved, 0.0, 50 if two_layer else 500)


@torch.inference_mode(mode=False)
@torch.enable_grad()
def warm_up(
    model: nn.Module,
    primary: Examples,
    auxiliary: Examples,
    *,
    loss: Loss,
    settings: WarmUp,
    seed: int = 0,
    progress: Progress = silent,
) -> TrainingRecord:
    """Train ``model`` in place to tell primary from auxiliary examples.

    Modes of all sub-modules and the global random state are as before afterwards.

    Args:
        model: one output per example.
        primary: coded with the loss's primary target unless they carry targets.
        auxiliary: likewise with the auxiliary target.
        loss: what is minimised, averaged over the mini-batch.
        settings: epochs, step size, momentum, batch size.
        seed: of the reshuffling, and of dropout where there is any.
        progress: called after each epoch.

    Raises:
        ModelError: nothing to train, or more than one output per example.
        SettingError: images to be moved or mirrored, and the examples are none, or too small.
        MeasurementError: the loss is no longer finite; the weights are left as they then are.
    """
    trainable = next((p for p in model.parameters() if p.requires_grad), None)
    if trainable is None:
        raise ModelError(
            "expected at least one trainable parameter, got a model whose parameters are all "
            "frozen; set requires_grad on those to be trained"
        )
    task = code(primary, auxiliary, loss)
    inputs, targets = task.inputs.to(trainable), task.targets.to(trainable)
    missing = int((~torch.isfinite(targets)).sum())
    if missing:
        raise DataError(
            f"warm-up expects finite targets, got NaN or infinity in {missing} of {len(targets)}; "
            "leave these examples out"
        )
    settings.check(inputs.shape[1:])
    shuffle = torch.Generator().manual_seed(seed)
    losses: list[float] = []
    with _modes_kept(model), torch.random.fork_rng():
        torch.manual_seed(seed)
        model.train()
        if settings.epochs == 0:
            return TrainingRecord((), _accuracy(model, inputs, targets, loss), 0.0)
        lr = settings.lr or _stable_lr(model, inputs, targets, loss, settings)
        fixed = None if settings.varies else inputs
        steps = descent(model, fixed, loss=loss, lr=lr, momentum=settings.momentum)
        try:
            for epoch in range(settings.epochs):
                total, order = 0.0, torch.randperm(len(inputs), generator=shuffle)
                for batch in order.split(settings.batch_size):
                    shown = inputs[batch]
                    if settings.varies:
                        shown = varied(
                            shown, shift=settings.shift, flip=settings.flip, generator=shuffle
                        )
                    total += steps.step(shown, targets[batch]).sum().item()
                steps.epoch_ends()
                losses.append(total / len(inputs))
                _check_finite(losses, lr)
                progress("warm-up", epoch + 1, settings.epochs)
        finally:
            steps.finish()
        accuracy = _accuracy(model, inputs, targets, loss)
    return TrainingRecord(tuple(losses), accuracy, lr)


@contextmanager
def _modes_kept(model: nn.Module) -> Iterator[None]:
    modes = [(module, module.training) for module in model.modules()]
    try:
        yield
    finally:
        for module, training in modes:
            module.training = training


def _stable_lr(
    model: nn.Module, inputs: Inputs, targets: PerExample, loss: Loss, settings: WarmUp
) -> float:
    """The default step, or a quarter of the stability limit: curvature grows as training goes."""
    some = torch.arange(0, len(inputs), max(1, len(inputs) // _SAMPLE))
    steepest = sharpness(model, inputs[some], targets[some], loss=loss)
    limit = 2 * (1 + settings.momentum) / steepest if steepest > 0 else inf
    return min(DEFAULT_LR, limit / 4)


def _check_finite(losses: list[float], lr: float) -> None:
    if not isfinite(losses[-1]):
        raise MeasurementError(
            f"warm-up diverged in epoch {len(losses)} at lr={lr:g}: the mean loss is "
            f"{losses[-1]}; take a smaller step size"
        )


def _accuracy(model: nn.Module, inputs: torch.Tensor, targets: torch.Tensor, loss: Loss) -> float:
    """Share of examples whose prediction, in eval mode, lies on its target's side."""
    model.eval()
    middle = (loss.primary_target + loss.auxiliary_target) / 2
    with torch.no_grad():
        outputs = torch.cat([outputs_of(model, block) for block in inputs.split(500)])
    right = (loss.prediction.of(outputs) > middle) == (targets > middle)
    return right.float().mean().item()
