"""The specification of a clustering run: everything needed to run it again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from localelastic.change import Auto, ClosedForm, Gradient, Replay, Strategy
from localelastic.cluster import (
    CLUSTERINGS,
    N_NETWORKS,
    N_STARTS,
    Clustering,
    KMeans,
    Neighbours,
    default_layers,
)
from localelastic.data import (
    Examples,
    FirstSampling,
    Pixels,
    RandomSampling,
    Sampling,
    Task,
    load_examples,
    primary_vs_auxiliary,
)
from localelastic.data.examples import natural_order
from localelastic.errors import ClassError, ReadError, SettingError
from localelastic.experiments.typed import typed_values
from localelastic.models import (
    ALL_LAYERS,
    LOSSES,
    NETWORKS,
    PHOTOGRAPHS,
    WarmUp,
    default_warm_up,
    published_warm_up,
    takes_images,
)
from localelastic.models.classifiers import Classifier, load_classifier, shipped_classifier
from localelastic.similarity import SIMILARITIES, CentredKernelized
from localelastic.trajectory import Frozen, Sequential, Trajectory
from localelastic.update import DEFAULT_LR

SAMPLINGS = ("random", "first")
TRAJECTORIES = ("frozen", "sequential")
STRATEGIES = ("auto", "gradient", "closed-form", "replay")
PRECISIONS = {"float32": torch.float32, "float64": torch.float64}
PRETRAINED = "pretrained"
"""Features of the classifier that comes with a package, in place of the name of a checkpoint."""
WARM_UPS = ("ours", "photographs", "published")
MOST = 1000
"""Examples taken of each side unless told otherwise, as in the paper."""


@dataclass(frozen=True)
class ClusterSpec:
    """One run of ``localelastic cluster``; a JSON round trip gives an equal one.

    Names are those of the command line. ``None`` means: as the data or the network asks for.
    ``data_sha256`` is of the examples as they were read, ``features_sha256`` of the checkpoint that
    ``features`` names, ``version`` of the package that wrote it.

    Raises:
        SettingError: a name that is not known, or a number out of its range.
    """

    data: str
    primary: tuple[str, ...]
    auxiliary: tuple[str, ...] = ()
    labels: str | None = None
    label_column: str | None = None
    fine_label_column: str | None = None
    input_columns: tuple[str, ...] | None = None
    id_column: str | None = None
    image_size: tuple[int, int] | None = None
    pixels: str = "signed"
    features: str | None = None
    n_primary: int | None = None
    n_auxiliary: int | None = None
    sampling: str = "random"
    network: str | None = None
    width: int | None = None
    networks: int = N_NETWORKS
    loss: str = "squared"
    warm_up: str | None = None
    warm_up_epochs: int | None = None
    warm_up_lr: float | None = None
    similarity: str = CentredKernelized.name
    layers: tuple[str, ...] | None = None
    trajectory: str = "frozen"
    passes: int = 1
    strategy: str = "auto"
    lr: float | None = None
    precision: str = "float32"
    memory: float | None = None
    clusters: int | None = None
    suggest_clusters: bool = False
    clustering: str = Neighbours.name
    neighbours: int | None = None
    starts: int | None = None
    seed: int = 0
    data_sha256: str | None = None
    features_sha256: str | None = None
    version: str = version("localelastic")

    def __post_init__(self) -> None:
        for name, known in _CHOICES.items():
            _expect_known(name, getattr(self, name), known)
        for name, (least, most) in _RANGES.items():
            value = getattr(self, name)
            if value is not None and not least <= value <= (most or value):
                allowed = f"from {least} to {most}" if most else f"of {least} or more"
                raise SettingError(f"expected {_flag(name)} {allowed}, got {value}")
        for name in ("lr", "warm_up_lr", "memory"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= _LARGEST:
                raise SettingError(
                    f"expected a positive, finite {_flag(name)} (at most {_LARGEST:.2g}), "
                    f"got {value}"
                )
        if self.strategy == "gradient" and self.trajectory == "sequential":
            raise SettingError(
                "--strategy gradient is taken at fixed weights, got --trajectory sequential; "
                "use --trajectory frozen or --strategy replay"
            )
        if self.strategy == "gradient" and self.lr is not None:
            raise SettingError("--strategy gradient takes no step, got --lr; leave one out")
        if self.suggest_clusters and self.clusters is not None:
            raise SettingError(
                "--suggest-clusters takes their number from the similarities, got --clusters "
                f"{self.clusters}; leave one out"
            )
        if self.starts is not None and self.clustering != KMeans.name:
            raise SettingError(
                "--starts are those of kernel K-means, got --clustering neighbours; "
                "leave --starts out or add --clustering k-means"
            )
        if self.neighbours is not None and self.clustering != Neighbours.name:
            raise SettingError(
                "--neighbours needs --clustering neighbours, got --clustering k-means; "
                "leave one out"
            )
        if self.features == "":
            raise SettingError(
                f"expected --features to be {PRETRAINED} or a checkpoint, got an empty name"
            )
        if self.features is not None and self.warm_up == "photographs":
            raise SettingError(
                "--warm-up photographs moves and mirrors images, got --features, where a network "
                "sees none; leave one out"
            )
        if self.passes > 1 and self.trajectory == "frozen":
            raise SettingError(
                "--passes needs --trajectory sequential: frozen passes are all equal"
            )

    @classmethod
    def read(cls, path: Path) -> ClusterSpec:
        """From a ``spec.json``, or from the run folder that holds one.

        Raises:
            ReadError: no such file, not JSON, or not such a specification.
            SettingError: a value out of its range.
        """
        file = path / "spec.json" if path.is_dir() else path
        try:
            given = json.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise ReadError(f"expected the spec.json of a run, got {file}: {reason}") from None
        except (ValueError, RecursionError):
            raise ReadError(f"expected the spec.json of a run, got no JSON in {file}") from None
        needed, known = {"data", "primary"}, {field.name for field in fields(cls)}
        if not isinstance(given, dict) or not needed <= given.keys():
            raise ReadError(f"expected the spec.json of a run, got another content in {file}")
        if "version" in given:  # written by a run, maybe before these could be named
            given.setdefault("networks", 1)
            given.setdefault("layers", [ALL_LAYERS])
        if unknown := sorted(given.keys() - known):
            raise ReadError(
                f"expected the settings of a run in {file}, got also {', '.join(unknown)}; "
                f"known are {', '.join(sorted(known))}"
            )
        try:
            values = typed_values(cls, given)
        except (TypeError, OverflowError) as error:
            raise ReadError(f"expected, in {file}, {error}") from None
        return cls(**values)

    def to_json(self) -> str:
        """Indented, in the order of the fields."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def examples(self) -> Examples:
        """The data, read."""
        return load_examples(
            self.data,
            labels=self.labels,
            label_column=self.label_column,
            fine_label_column=self.fine_label_column,
            input_columns=self.input_columns,
            id_column=self.id_column,
            image_size=self.image_size,
            pixels=Pixels[self.pixels.upper()],
        )

    def resolved(self, examples: Examples) -> ClusterSpec:
        """With what was left open decided: network, layers, classes, counts, number of clusters.

        Raises:
            ClassError: every class of the data is primary, so that there is none to train against.
        """
        images = takes_images(examples.shape) and self.features is None
        network = self.network or ("cnn" if images else "two-layer")
        width = self.width
        if self.network is None and network == "two-layer":
            width = width or 4096
        layers = (default_layers(self.strategy_object(), self.trajectory_object()),)
        clusters = self.clusters or (len(self.primary) if len(self.primary) > 1 else 2)
        convolutions = network.startswith("cnn") and self.features is None
        moved = default_warm_up(examples.shape, convolutions=convolutions).varies
        known = examples.coarse or examples.classes or ()
        auxiliary = self.auxiliary or _others(known, self.primary)
        return replace(
            self,
            auxiliary=auxiliary,
            network=network,
            width=width,
            layers=self.layers or layers,
            warm_up=self.warm_up or ("photographs" if moved else "ours"),
            clusters=None if self.suggest_clusters else clusters,
            n_primary=self.n_primary or _enough(known, self.primary),
            n_auxiliary=self.n_auxiliary or _enough(known, auxiliary),
        )

    def task(self, examples: Examples) -> Task:
        """Primary and auxiliary examples."""
        first = self.sampling == "first"
        sampling: Sampling = FirstSampling() if first else RandomSampling(self.seed)
        return primary_vs_auxiliary(
            examples,
            primary=self.primary,
            auxiliary=self.auxiliary,
            n_primary=self.n_primary,
            n_auxiliary=self.n_auxiliary,
            sampling=sampling,
        )

    def classifier(self) -> Classifier | None:
        """Whose features a network sees; ``None`` where it sees the examples as they are.

        Raises:
            InputError: no such checkpoint, or its package is not installed.
        """
        if self.features is None:
            return None
        if self.features == PRETRAINED:
            return shipped_classifier()
        return load_classifier(Path(self.features))

    def settings(self) -> WarmUp:
        """Of the warm-up: a preset, and what was given beside it."""
        preset = PHOTOGRAPHS if self.warm_up == "photographs" else WarmUp()
        if self.warm_up == "published":
            preset = published_warm_up(self.network or "cnn", self.loss)
        epochs = preset.epochs if self.warm_up_epochs is None else self.warm_up_epochs
        return replace(preset, epochs=epochs, lr=self.warm_up_lr or preset.lr)

    def trajectory_object(self) -> Trajectory:
        """Which weights steps start from."""
        return Frozen() if self.trajectory == "frozen" else Sequential(self.passes, self.seed)

    def clustering_object(self) -> Clustering:
        """What turns similarities into clusters."""
        if self.clustering == Neighbours.name:
            return Neighbours(self.neighbours)
        return KMeans(N_STARTS if self.starts is None else self.starts)

    def strategy_object(self) -> Strategy | Auto:
        """How changes are computed."""
        dtype = PRECISIONS[self.precision]
        memory = None if self.memory is None else int(self.memory * 2**30)
        if self.strategy == "gradient":
            return Gradient(dtype, memory)
        if self.strategy == "auto":
            return Auto(self.lr, dtype, memory)
        real = ClosedForm if self.strategy == "closed-form" else Replay
        return real(DEFAULT_LR if self.lr is None else self.lr, dtype)


def _others(known: Sequence[str], primary: Sequence[str]) -> tuple[str, ...]:
    """Every class but the primary ones; none where no class is known, which the task refuses."""
    others = tuple(name for name in natural_order(set(known)) if name not in primary)
    if known and not others:
        raise ClassError(
            "expected a class to train against beside the primary ones, got data of "
            f"{', '.join(natural_order(set(known)))} alone; give examples of something else"
        )
    return others


def _enough(known: Sequence[str], wanted: Sequence[str]) -> int | None:
    """All examples up to 1,000 in all; beyond, the same number of each class."""
    sizes = [count for name, count in Counter(known).items() if name in wanted]
    if sum(sizes) <= MOST:
        return None
    return min(MOST, len(sizes) * min(sizes))


_RANGES: dict[str, tuple[int, int | None]] = {
    "n_primary": (1, None),
    "n_auxiliary": (1, None),
    "width": (1, None),
    "networks": (1, 100),
    "warm_up_epochs": (0, None),
    "passes": (1, None),
    "clusters": (2, None),
    "neighbours": (1, None),
    "starts": (1, 10_000),  # all of them run at once
    "seed": (0, 2**32 - 1),  # as scikit-learn takes them
}
_LARGEST = torch.finfo(torch.float32).max

_CHOICES: dict[str, Any] = {
    "pixels": [choice.name.lower() for choice in Pixels],
    "sampling": SAMPLINGS,
    "network": [None, *NETWORKS],
    "loss": LOSSES,
    "warm_up": (None, *WARM_UPS),
    "similarity": SIMILARITIES,
    "clustering": CLUSTERINGS,
    "trajectory": TRAJECTORIES,
    "strategy": STRATEGIES,
    "precision": PRECISIONS,
}


def _expect_known(name: str, value: str | None, known: Any) -> None:
    if value not in known:
        listed = ", ".join(choice for choice in known if choice)
        raise SettingError(f"expected {_flag(name)} to be one of {listed}, got {value!r}")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")
