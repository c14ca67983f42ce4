"""What an experiment is: a name, its scales, a record, and the pictures drawn from it."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from localelastic.errors import SettingError
from localelastic.experiments.cells import Cell, Failed, Found, computed
from localelastic.experiments.environment import environment
from localelastic.report.experiment_record import ExperimentRecord
from localelastic.shapes import Progress, silent

if TYPE_CHECKING:  # a list of experiments needs no drawing
    from localelastic.report.experiment import Picture

SCALES = ("smoke", "quick", "paper")
MOST_SEEDS = 1000
PARALLEL = frozenset({"workers", "cache"})
"""What experiments of independent cells take."""


@dataclass(frozen=True)
class Cost:
    """What a scale takes on two cores, as measured.

    Args:
        seconds: for the default seeds.
        gibibytes: at most.
        seeds: how many by default.
    """

    seconds: float | int
    gibibytes: float | int
    seeds: int = 1


@dataclass(frozen=True)
class Costs:
    """Of every scale."""

    smoke: Cost
    quick: Cost
    paper: Cost

    def __getitem__(self, scale: str) -> Cost:
        """Of one of them."""
        found: Cost = getattr(self, scale)
        return found


@dataclass(frozen=True)
class Request:
    """What is asked of an experiment.

    Args:
        scale: smoke (seconds, for tests), quick (minutes on two cores) or paper.
        seeds: of networks and samples; the experiment's own number, from 0, if empty.
        photos: a folder of photographs, one sub-folder per class.
        classifier: a checkpoint for them.
        data: a data set in place of the shipped one.
        cache: where finished parts are kept, so that a run that was killed goes on.
        workers: parts computed at once, each on one thread.
        protocol: of a table: published, algorithm1 or ours.
        only: rows of a table, or sets of figures 1 and 4, whose name has this in it; all if empty.
    """

    scale: str = "quick"
    seeds: tuple[int, ...] = ()
    photos: Path | None = None
    classifier: Path | None = None
    data: Path | None = None
    cache: Path | None = None
    workers: int = 1
    protocol: str = "published"
    only: str = ""

    def compute(
        self,
        function: Callable[[Cell], Found],
        cells: Sequence[Cell],
        *,
        progress: Progress,
        stage: str,
    ) -> list[Found | Failed]:
        """:func:`computed`, with this request's workers and cache."""
        return computed(
            function,
            cells,
            workers=self.workers,
            cache=self.cache,
            progress=progress,
            stage=stage,
        )

    def wants(self, name: str) -> bool:
        """Whether ``only`` leaves it."""
        return self.only.lower() in name.lower()

    def asked(self, names: Sequence[str], of: str) -> list[str]:
        """Those that ``only`` leaves.

        Args:
            names: of all parts.
            of: what has these parts.

        Raises:
            SettingError: none is left.
        """
        left = [name for name in names if self.wants(name)]
        if not left:
            raise SettingError(
                f"expected only to be part of a name in {of} ({', '.join(names)}), got "
                f"{self.only!r}"
            )
        return left

    def __post_init__(self) -> None:
        if self.scale not in SCALES:
            raise SettingError(f"expected scale to be one of {', '.join(SCALES)}, got {self.scale}")
        if self.workers < 1:
            raise SettingError(f"expected workers of 1 or more, got {self.workers}")
        if len(set(self.seeds)) < len(self.seeds) or not all(0 <= s < 2**32 for s in self.seeds):
            raise SettingError(
                f"expected seeds from 0 to {2**32 - 1}, each once, got {self.seeds[:5]}"
            )
        if len(self.seeds) > MOST_SEEDS:
            raise SettingError(f"expected {MOST_SEEDS} seeds at most, got {len(self.seeds)}")


class Experiment(ABC):
    """One figure or table. To add one, put a module with ``EXPERIMENTS`` into ``paper/``."""

    name: str
    """As typed."""
    title: str
    source: str
    """Where in the paper it stands."""
    costs: Costs
    takes: frozenset[str] = frozenset()
    """Which of a request's optional fields mean something to it."""

    @abstractmethod
    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """The record, without ``seconds``, ``command`` and ``environment``.

        Raises:
            InputError: what cannot be run, such as for a missing file; before any work.
            MeasurementError: every run diverged, or nothing had a meaning.
        """

    @abstractmethod
    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """From the record alone, so that it can be drawn again."""


def run_experiment(
    experiment: Experiment, request: Request, progress: Progress = silent, command: str = ""
) -> ExperimentRecord:
    """Measure, and say how long it took.

    Args:
        experiment: which.
        request: at which scale, with which seeds.
        progress: told as the work goes on.
        command: what to type for the same again.

    Raises:
        InputError: a request that cannot be met.
        MeasurementError: nothing could be measured.
    """
    for name in ("photos", "classifier", "data", "cache", "workers", "protocol", "only"):
        if name not in experiment.takes and getattr(request, name) != getattr(Request(), name):
            raise SettingError(f"{experiment.name} does not take {name}; leave it out")
    if not request.seeds:
        request = replace(request, seeds=tuple(range(experiment.costs[request.scale].seeds)))
    started = time.perf_counter()
    record = experiment.measure(request, progress)
    notes = record.notes
    if request.scale == SCALES[0]:
        notes = (f"Scale {SCALES[0]} shows that everything runs; its numbers mean nothing.", *notes)
    return replace(
        record,
        notes=notes,
        seconds=time.perf_counter() - started,
        environment=environment(),
        command=command,
    )


@cache
def experiments() -> Mapping[str, Experiment]:
    """All there are, by name, in the order to be listed."""
    package = import_module("localelastic.experiments.paper")
    found: dict[str, Experiment] = {}
    for module in sorted(iter_modules(package.__path__), key=lambda m: m.name):
        named = import_module(f"{package.__name__}.{module.name}")
        for experiment in getattr(named, "EXPERIMENTS", ()):
            found[experiment.name] = experiment
    return dict(sorted(found.items()))


def experiment_named(name: str) -> Experiment:
    """The experiment of that name.

    Raises:
        SettingError: there is none.
    """
    if name not in experiments():
        raise SettingError(
            f"unknown experiment {name!r}; choose one of: {', '.join(experiments())}"
        )
    return experiments()[name]
