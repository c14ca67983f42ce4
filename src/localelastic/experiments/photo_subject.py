"""Steps of a pretrained classifier on photographs: what figures 5 and 6 share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from localelastic.data import Examples
from localelastic.data.origin import Origin
from localelastic.data.photos import (
    CENTRE,
    Frame,
    framed,
    photos_in,
    read_photo,
    shipped_photo,
)
from localelastic.errors import DataError, MeasurementError, ModelError, ReadError
from localelastic.experiments.cells import Failed
from localelastic.experiments.experiment import Request
from localelastic.experiments.published import published
from localelastic.measure import prediction_change
from localelastic.models.classifiers import (
    SIDE,
    Classifier,
    class_name,
    load_classifier,
    shipped_classifier,
)
from localelastic.shapes import Progress

LRS = (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
"""Step sizes that are looked at; the paper does not give its own."""
QUICK_LRS = LRS[:5]
"""Without the two largest."""
FEW_LRS = (1e-4, 1e-3)
THUMBNAIL = 112

Chosen = TypeVar("Chosen", bound=Hashable)


@dataclass(frozen=True)
class Role:
    """What a sub-folder of photographs is for.

    Args:
        folder: named by its ImageNet class, with which the step is labelled.
        synset: how ImageNet names that folder.
        label: that class.
        plain: the sub-folder's other name, for photographs of any class: labelled with the
            classifier's own first choice.
    """

    folder: str
    synset: str
    label: int
    plain: str


TABBY = Role("tabby", "n02123045", 281, "update")
TIGER_CAT = Role("tiger-cat", "n02123159", 282, "similar")
WARPLANE = Role("warplane", "n04552348", 895, "dissimilar")
TREE_FROG = Role("tree-frog", "n01644373", 31, "other")


@dataclass(frozen=True)
class View:
    """A square of a photograph.

    Args:
        photo: a name of ``SHIPPED``, or the path of a file.
        name: in words.
        frame: which square.
        label: ImageNet class for a step on it; ``None`` takes the classifier's own first choice.
        digest: of the file, empty for a shipped one.
    """

    photo: str
    name: str
    frame: Frame = CENTRE
    label: int | None = None
    digest: str = ""

    def square(self, side: int = SIDE) -> UInt8[np.ndarray, "s s 3"]:
        """Its pixels."""
        return _square(self, side)


@dataclass(frozen=True)
class Step:
    """One step, taken anew at each step size; a cell.

    Args:
        classifier: a checkpoint; the one that a package ships if ``None``.
        step_on: one photograph or a mini-batch.
        probes: looked at before and after.
        lrs: step sizes of plain SGD.
    """

    classifier: Origin | None
    step_on: tuple[View, ...]
    probes: tuple[View, ...]
    lrs: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Taken:
    """What a step did; ``s`` step sizes, ``m`` probes, ``b`` photographs stepped on.

    Args:
        kl: ``KL(before || after)`` in nats; NaN where a prediction was not finite after the step.
        self_kl: at the photographs stepped on.
        size: Euclidean length of the change of all logits.
        distance: of the scaled inputs, Euclidean.
        entropy: of the prediction before the step, in nats.
        top: the classifier's first choice at the probes.
        top_share: its probability.
        labels: stepped on.
        step_top: the first choice at the photographs stepped on.
        hidden: changes below the noise floor.
    """

    kl: Float[np.ndarray, "s m"]
    self_kl: Float[np.ndarray, "s b"]
    size: Float[np.ndarray, "s m"]
    distance: Float[np.ndarray, "b m"]
    entropy: Float[np.ndarray, "m"]
    top: Int[np.ndarray, "m"]
    top_share: Float[np.ndarray, "m"]
    labels: tuple[int, ...]
    step_top: Int[np.ndarray, "b"]
    hidden: int


def take(step: Step) -> Taken:
    """Take it at every step size, each from the pretrained weights, batch norm in eval mode.

    Raises:
        MeasurementError: predictions were not finite at any step size.
        ModelError: a label that the classifier does not have.
    """
    network = classifier_at(step.classifier)
    own, other = _inputs(network, step.step_on), _inputs(network, step.probes)
    with torch.no_grad():
        before = torch.cat([network.module(one[None]) for one in other]).double().log_softmax(1)
        first = torch.cat([network.module(one[None]) for one in own]).argmax(1)
    tops = first.tolist()
    labels = [tops[i] if view.label is None else view.label for i, view in enumerate(step.step_on)]
    if max(labels) >= before.shape[1]:
        raise ModelError(
            f"expected a classifier of ImageNet's 1000 classes for the class {max(labels)} "
            f"({class_name(max(labels))}), got one of {before.shape[1]}; give sub-folders the "
            "names that go without a class"
        )
    rows: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
    hidden, reason = 0, ""
    for lr in step.lrs:
        try:
            found = prediction_change(
                network.module,
                Examples.of(own, targets=labels),
                Examples.of(other),
                loss=torch.nn.functional.cross_entropy,
                lr=lr,
                mode="eval",
                first_order=False,
            )
        except MeasurementError as error:
            reason = str(error)
            nothing = np.full(len(other), np.nan)
            rows.append((nothing, np.full(len(own), np.nan), nothing))
            continue
        assert found.kl is not None  # an output per class
        assert found.self_kl is not None
        hidden += int(found.below_floor.sum())
        rows.append((found.kl, found.self_kl, found.size))
    if np.isnan([row[0] for row in rows]).all():
        raise MeasurementError(reason)
    kl, self_kl, size = (np.stack(column) for column in zip(*rows, strict=True))
    return Taken(
        kl,
        self_kl,
        size,
        torch.cdist(own.flatten(1).double(), other.flatten(1).double()).numpy(),
        -(before.exp() * before).sum(1).numpy(),
        before.argmax(1).numpy(),
        before.exp().amax(1).numpy(),
        tuple(labels),
        first.numpy(),
        hidden,
    )


def settled(
    request: Request, choose: Callable[[int], Chosen], why: str
) -> tuple[Request, list[Chosen], list[str]]:
    """Photographs of every seed; one seed and a note where all choose the same.

    Args:
        request: with its seeds.
        choose: photographs of a seed.
        why: the note.
    """
    choices = [choose(seed) for seed in request.seeds]
    if len(choices) > 1 and len(set(choices)) == 1:
        return replace(request, seeds=request.seeds[:1]), choices[:1], [why]
    return request, choices, []


def take_all(
    steps: Sequence[Step], request: Request, progress: Progress, stage: str
) -> list[Taken]:
    """All steps, in parallel.

    Raises:
        MeasurementError: one of them gave no finite prediction.
    """
    found: list[Taken] = []
    for one in request.compute(take, steps, progress=progress, stage=stage):
        if isinstance(one, Failed):
            raise MeasurementError(one.reason)
        found.append(one)
    return found


def nearest_lr(lrs: Sequence[float], kl: Sequence[float], wanted: float) -> float:
    """The step size whose KL is nearest to ``wanted`` on a logarithmic scale.

    Raises:
        MeasurementError: no KL above zero.

    Example:
        >>> nearest_lr([1e-4, 1e-3, 1e-2], [1e-4, 1e-2, 1.0], 0.03)
        0.001
    """
    usable = [(abs(np.log(k / wanted)), lr) for lr, k in zip(lrs, kl, strict=True) if k > 0]
    if not usable:
        raise MeasurementError("no step changed the predictions: the step sizes are too small")
    return min(usable)[1]


def as_printed(figure: str) -> dict[str, float]:
    """What the paper prints with a figure."""
    return {name: float(value) for name, value in published()["figures"][figure].items()}


def lr_notes(lrs: Sequence[float], lr: float) -> Iterator[str]:
    """Whether the step size is at an end of those that were looked at."""
    if lr in (lrs[0], lrs[-1]):
        yield (
            f"The step size {lr:g} is at the end of those that were looked at: one beyond it may "
            "be nearer to the printed KL."
        )


def in_folder(
    folder: Path, role: Role, count: int, seed: int, *, least: int = 1
) -> tuple[View, ...]:
    """Photographs of a role, drawn by the seed; all in a random order if there are no more.

    Args:
        folder: with a sub-folder for each role.
        role: which.
        count: at most.
        seed: of the choice. One more photograph in another folder changes nothing here.
        least: fewer are refused.

    Raises:
        ReadError: no such sub-folder, or a file that is no photograph.
        DataError: too few.
    """
    labels = {role.folder: role.label, role.synset: role.label, role.plain: None}
    name = next((name for name in labels if (folder / name).is_dir()), None)
    if name is None:
        if not folder.is_dir():
            raise ReadError(f"expected a folder of photographs, got {folder}: no such folder")
        there = sorted(p.name for p in folder.iterdir())
        raise ReadError(
            f"expected a sub-folder {role.folder} (or {role.synset}) of photographs in {folder}, "
            f"or {role.plain}, of any class, got {', '.join(there[:8]) or 'nothing'}; "
            "put photographs there"
        )
    files = photos_in(folder / name)
    if len(files) < least:
        raise DataError(
            f"expected {least} photographs or more in {folder / name}, got {len(files)}; add some"
        )
    order = np.random.default_rng(seed).permutation(len(files))[:count]
    if count >= len(files) and least == 1:
        order = np.sort(order)
    views = []
    for i in order.tolist():
        read_photo(files[i])  # one that cannot be read is said before any work
        origin = Origin.of_file(files[i])
        label = f"{name}/{files[i].stem}"
        views.append(View(origin.place, label, CENTRE, labels[name], origin.sha256))
    return tuple(views)


def crops(
    photo: str, count: int, rng: np.random.Generator, *, mirrored: bool = False
) -> Iterator[View]:
    """Random squares of a shipped photograph, of 70 to 100 % of its shorter side."""
    for _ in range(count):
        side, across, down = rng.uniform([0.7, 0, 0], 1).round(3).tolist()
        label = TABBY.label if photo == "cat" else None
        name = f"{photo}, mirrored" if mirrored else photo
        yield View(photo, name, Frame(side, across, down, mirrored), label)


def thumbnails(views: Sequence[View]) -> UInt8[np.ndarray, "m s s 3"]:
    """Small pictures."""
    return np.stack([view.square(THUMBNAIL) for view in views])


@cache
def classifier_at(origin: Origin | None) -> Classifier:
    """Loaded once in each process; the one that a package ships if ``None``."""
    return shipped_classifier() if origin is None else load_classifier(origin.place)


def checkpoint(request: Request) -> Origin | None:
    """Of the classifier, which is loaded, so that a wrong one is said first.

    Raises:
        InputError: it cannot be had.
    """
    origin = None if request.classifier is None else Origin.of_file(request.classifier)
    classifier_at(origin)
    return origin


def same_settings(network: Classifier) -> dict[str, str]:
    """What both experiments say of how they measure."""
    return {
        "classifier": network.name,
        "inputs": f"224 x 224 squares, resized with anti-aliasing (bicubic), {network.pixels}",
        "batch norm": "eval mode: running averages, not changed by the step",
        "step": "plain SGD on all weights, cross-entropy, each from the pretrained weights",
        "change": "KL(before || after) of the class probabilities, in nats; the paper does not say "
        "which way round its own is",
        "distance": "Euclidean, of the scaled inputs",
    }


def _inputs(network: Classifier, views: Sequence[View]) -> Tensor:
    squares = np.stack([view.square() for view in views])
    return network.inputs(torch.from_numpy(squares).permute(0, 3, 1, 2).contiguous())


@lru_cache(maxsize=256)  # the squares: photographs themselves can be large
def _square(view: View, side: int) -> UInt8[np.ndarray, "s s 3"]:
    pixels = read_photo(Path(view.photo)) if view.digest else shipped_photo(view.photo)
    return framed(pixels, view.frame, side)
