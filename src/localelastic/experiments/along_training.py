"""Similarities along training: the same network stopped at some of its steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isfinite, nan

import numpy as np
import torch
from torch import nn

from localelastic.analysis import correlation
from localelastic.change import Gradient
from localelastic.cluster import KMeans, chance_accuracy, cluster_matrix, clustering_accuracy
from localelastic.data import Examples, RandomSampling, load_mnist, primary_vs_auxiliary
from localelastic.data.geometry import GEOMETRIES
from localelastic.errors import InputError, MeasurementError
from localelastic.experiments.activation import patterns
from localelastic.experiments.geometry_subject import (
    LOSS,
    N_POINTS,
    STABLE_SHARE,
    GeometryScale,
    published_lr,
    start,
)
from localelastic.matrix import of_same_steps
from localelastic.measure import similarity_matrix
from localelastic.models import PUBLISHED_WIDTHS, build_network, code, outputs_of, sharpness
from localelastic.models.descent import descent
from localelastic.shapes import Inputs, PerExample, Square
from localelastic.similarity import Kernelized, NormalizedKernelized, Relative, SignedRelative

PUBLISHED_DIGITS_LR = 6e-3
"""3e-3 on the squared error without 1/2, at 40,960 hidden units."""
PRIMARY, AUXILIARY = ("5", "8"), ("3", "9")
BATCH = 50


def units(share: float) -> int:
    """Hidden units of a two-layer network of a share of the published width."""
    return round(PUBLISHED_WIDTHS["two-layer"] * share)


def checkpoints(last: int, count: int) -> tuple[int, ...]:
    """Steps after which to look: 0, 1, ... ``last``, logarithmically spaced.

    Example:
        >>> checkpoints(100, 4)
        (0, 1, 10, 100)
    """
    spaced = np.geomspace(1, last, count - 1).round().astype(int)
    return (0, *sorted({int(step) for step in spaced}))


def trained_along(
    model: nn.Module,
    inputs: Inputs,
    targets: PerExample,
    *,
    lr: float,
    momentum: float,
    batch_size: int,
    stops: Sequence[int],
    seed: int,
) -> Iterator[int]:
    """Train in place by mini-batch descent, reshuffled each epoch, and yield at each stop.

    The weights of ``model`` are then those after so many steps.

    Raises:
        MeasurementError: the loss is no longer finite.
    """
    shuffle = torch.Generator().manual_seed(seed)
    steps, taken, last = descent(model, inputs, loss=LOSS, lr=lr, momentum=momentum), 0, max(stops)
    if taken in stops:
        yield taken
    while taken < last:
        for batch in torch.randperm(len(inputs), generator=shuffle).split(batch_size):
            with torch.enable_grad():
                loss = steps.step(inputs[batch], targets[batch]).mean().item()
            taken += 1
            if not isfinite(loss):
                raise MeasurementError(
                    f"training diverged at step {taken} with lr={lr:g}: the loss is {loss}"
                )
            if taken in stops:
                steps.finish()
                yield taken
            if taken == last:
                return
        steps.epoch_ends()


@dataclass(frozen=True)
class Run:
    """One training.

    Args:
        network: a name of ``NETWORKS``.
        width: as a share of the published width; of no meaning for the CNN.
        steps: in all.
        stops: how many places to look at.
        published: whether at the published step size, else at a stable one.
        seed: of examples, weights and mini-batches.
        n: digits of each side; of the torus there are always 50.
    """

    network: str
    width: float
    steps: int
    stops: int
    published: bool
    seed: int
    n: int = 100


Found = dict[str, list[float]]
"""One value per stop, by name; ``nan`` where something had no meaning."""


def along_torus(run: Run) -> Found:
    """Relative change and its correlation with distance; full batches.

    Raises:
        MeasurementError: it diverged.
    """
    scale = GeometryScale(run.width, run.steps)
    sample = GEOMETRIES["torus"].sample(N_POINTS, seed=run.seed)
    model, limit = start(sample, run.network, scale, seed=run.seed)
    lr = published_lr(scale) if run.published else min(published_lr(scale), STABLE_SHARE * limit)
    inputs, targets = _coded(sample.task.primary, sample.task.auxiliary)
    distances, found = sample.primary.distances(), Found()
    for step in trained_along(
        model,
        inputs,
        targets,
        lr=lr,
        momentum=0.0,
        batch_size=len(inputs),
        stops=checkpoints(run.steps, run.stops),
        seed=run.seed,
    ):
        signed = similarity_matrix(
            model,
            sample.primary.examples,
            loss=LOSS,
            similarity=SignedRelative(),
            strategy=Gradient(),
        ).values
        _note(
            found,
            step=float(step),
            loss=_loss(model, inputs, targets),
            mean=float(np.abs(signed).mean()),
            unsigned=correlation(np.abs(signed), distances).pearson,
            signed=correlation(signed, distances).pearson,
        )
    return found


def along_digits(run: Run) -> Found:
    """How alike digits of one class and of two are, and what clusters say, 5 8 against 3 9.

    Raises:
        MeasurementError: it diverged.
    """
    task = primary_vs_auxiliary(
        load_mnist(),
        primary=PRIMARY,
        auxiliary=AUXILIARY,
        n_primary=run.n,
        n_auxiliary=run.n,
        sampling=RandomSampling(run.seed),
    )
    inputs, targets = _coded(task.primary, task.auxiliary)
    classes = task.primary.classes
    assert classes is not None
    cnn = run.network == "cnn"
    width = None if cnn else units(run.width)
    model = build_network(run.network, task.primary.shape, width=width, seed=run.seed)
    limit = 2 / sharpness(model, inputs, targets, loss=LOSS)
    lr = PUBLISHED_DIGITS_LR / run.width if run.published else min(0.01 if cnn else 1.0, limit / 4)
    chance, found = chance_accuracy(classes, len(PRIMARY)), Found()
    for step in trained_along(
        model,
        inputs,
        targets,
        lr=lr,
        momentum=0.9 if cnn else 0.0,
        batch_size=BATCH,
        stops=checkpoints(run.steps, run.stops),
        seed=run.seed,
    ):
        steepest = sharpness(model, inputs, targets, loss=LOSS)
        values = {
            "step": float(step),
            "loss": _loss(model, inputs, targets),
            "step size over limit": lr * steepest / 2,
            "chance": chance,
        }
        if not cnn:
            on = patterns(model, inputs)
            values["alive"] = float(on.any(axis=0).mean())
            values["dark examples"] = float((~on.any(axis=1)).mean())
        kernel = similarity_matrix(
            model, task.primary, loss=LOSS, similarity=Kernelized(), strategy=Gradient()
        )
        for name, kind in (("normalized", NormalizedKernelized()), ("relative", Relative())):
            matrix = of_same_steps(kernel, kind)
            named = tuple(classes[i] for i in matrix.kept)
            within, between = within_and_between(matrix.symmetric, named)
            values[f"{name}, within"], values[f"{name}, between"] = within, between
            try:
                labels = cluster_matrix(
                    matrix, n_clusters=len(PRIMARY), clustering=KMeans(), seed=run.seed
                ).labels
                values[f"{name}, accuracy"] = clustering_accuracy(named, labels)
            except InputError:  # every example is alike: there is nothing to cluster
                values[f"{name}, accuracy"] = nan
        _note(found, **values)
    return found


def within_and_between(values: Square, classes: Sequence[str]) -> tuple[float, float]:
    """The mean similarity of pairs of one class, without self-pairs, and of two classes.

    Example:
        >>> within_and_between(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.0]]),
        ...                    ["cat", "cat", "dog"])
        (0.5, 0.1)
    """
    names = np.array(classes)
    same = names[:, None] == names[None, :]
    apart = ~np.eye(len(names), dtype=bool)
    return float(values[same & apart].mean()), float(values[~same].mean())


def _coded(primary: Examples, auxiliary: Examples) -> tuple[Inputs, PerExample]:
    task = code(primary, auxiliary, LOSS)
    return task.inputs.float(), task.targets.float()


def _loss(model: nn.Module, inputs: Inputs, targets: PerExample) -> float:
    with torch.no_grad():
        return LOSS.value(outputs_of(model, inputs), targets).mean().item()


def _note(found: Found, **values: float) -> None:
    for name, value in values.items():
        found.setdefault(name, []).append(float(value))
