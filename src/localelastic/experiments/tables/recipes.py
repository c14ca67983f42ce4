"""From classes to clusters: what networks are taught before, and how their kernels are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product

from localelastic.cluster import N_NEIGHBORS, N_NETWORKS, KMeans, Neighbours
from localelastic.data.origin import Origin
from localelastic.errors import MeasurementError
from localelastic.experiments.tables.cell import NetworkCell, Part
from localelastic.experiments.tables.kernels import ALL, EACH, FEATURES, KernelsFound
from localelastic.experiments.tables.settings import SETTINGS, Setting
from localelastic.experiments.words import variation_in_words
from localelastic.models import PHOTOGRAPHS, WarmUp

Pair = tuple[tuple[str, ...], tuple[str, ...]]
"""Primary and auxiliary classes."""

_APART = 100
"""Between the seeds of two networks of one sample, so that no two samples share a network."""
_WIDTH = 4096
"""Of the network on features, as by default."""


@dataclass(frozen=True)
class Training:
    """What a network is taught before it is measured.

    Args:
        stages: of one warm-up, by the epochs after which it is measured; the kernels of all are
            averaged.
        others: against every other class of the data instead of the auxiliary classes of the pair.
        features: it is shown what a pretrained classifier sees, not the images.
    """

    stages: tuple[WarmUp, ...] = (WarmUp(),)
    others: bool = False
    features: bool = False

    @property
    def label(self) -> str:
        """In words."""
        epochs = " and ".join(str(stage.epochs) for stage in self.stages)
        against = ", against all other classes" if self.others else ""
        unit = "epoch" if epochs == "1" else "epochs"
        shown = f", on {FEATURES}" if self.features else ""
        return f"{epochs} {unit}{variation_in_words(self.stages[-1])}{against}{shown}"

    def at(self, effort: float) -> Training:
        """With a share of the epochs, but one at least."""
        stages = (
            replace(stage, epochs=max(1, round(stage.epochs * effort))) for stage in self.stages
        )
        return replace(self, stages=tuple(dict.fromkeys(stages)))


@dataclass(frozen=True)
class Sample:
    """Where a pair's examples are, and how many of them.

    Args:
        data: where they are, and what was there.
        classes: all there are.
        n: primary, and auxiliary, examples.
        seed: of the sample and of its networks.
    """

    data: Origin
    classes: tuple[str, ...]
    n: int
    seed: int

    def part(self, pair: Pair, training: Training) -> Part:
        """The examples that networks of this training see."""
        primary, auxiliary = pair
        if training.others:
            auxiliary = tuple(name for name in self.classes if name not in primary)
        return Part(self.data, primary, auxiliary, self.n, self.n, seed=self.seed)


@dataclass(frozen=True)
class Recipe:
    """A training, and how kernels become clusters."""

    training: Training
    setting: Setting

    @property
    def label(self) -> str:
        """In words."""
        return f"{self.setting.label}; {self.training.label}"

    def cells(self, sample: Sample, pair: Pair) -> tuple[NetworkCell, ...]:
        """The networks, at each stage, whose kernels are averaged."""
        on_features = self.training.features
        return tuple(
            NetworkCell(
                sample.part(pair, self.training),
                "two-layer" if on_features else "cnn",
                _WIDTH if on_features else None,
                "squared",
                stage,
                False,
                sample.seed + _APART * network,
            )
            for network in range(self.setting.networks)
            for stage in self.training.stages
        )

    def accuracy(
        self, sample: Sample, pair: Pair, values: Mapping[NetworkCell, KernelsFound]
    ) -> float:
        """Of the clusters, by the networks that came to an end.

        Raises:
            MeasurementError: none did.
        """
        found = [values[cell] for cell in self.cells(sample, pair) if cell in values]
        if not found:
            raise MeasurementError("no network of this recipe came to an end")
        return self.setting.accuracy(found, sample.seed)


def network_in_words(cell: NetworkCell) -> str:
    """Which of its sample a network is."""
    sample, network = cell.part.seed, (cell.seed - cell.part.seed) // _APART + 1
    return f"{' '.join(cell.part.primary)}, seed {sample}, network {network}"


_STAGES: dict[str, tuple[tuple[WarmUp, ...], ...]] = {
    "MNIST": ((WarmUp(),), (replace(WarmUp(), epochs=WarmUp().epochs // 2), WarmUp())),
    "CIFAR-10": ((WarmUp(),), (PHOTOGRAPHS,)),
}
"""Digits are not mirrored; of photographs one more stage would take a quarter of an hour."""
CANDIDATES: dict[str, tuple[Recipe, ...]] = {
    dataset: tuple(
        Recipe(Training(one, others), setting)
        for one, others, setting in product(stages, (False, True), SETTINGS)
    )
    for dataset, stages in _STAGES.items()
}
"""What is chosen from."""
_NEAR = Neighbours(N_NEIGHBORS)
DEFAULTS = {
    "MNIST": Recipe(Training(), Setting(_NEAR, "centred", EACH, N_NETWORKS)),
    "CIFAR-10": Recipe(Training((PHOTOGRAPHS,), True), Setting(_NEAR, "centred", EACH, N_NETWORKS)),
}
"""What ``localelastic cluster`` does unless told otherwise; of digits against the classes named."""
PRINTED = Recipe(Training(), Setting(KMeans(), "kernelized", ALL))
"""The paper's way to read kernels, after our warm-up."""
ON_FEATURES = Recipe(Training(features=True), Setting(_NEAR, "centred", EACH))
"""One network, shown what a classifier of photographs sees."""
