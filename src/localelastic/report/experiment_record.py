"""What a finished experiment says: one record for every figure and every table."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from localelastic.analysis import Interval, interval
from localelastic.errors import ReadError

RECORD, SERIES = "record.json", "series.npz"


@dataclass(frozen=True)
class Quantity:
    """One number, measured once per seed.

    Args:
        name: what it is, unique in its group.
        values: one per seed that came to an end.
        published: the paper's value, as printed; ``None`` if it has none.
        group: what it belongs to, such as "torus, ReLU"; quantities of a group are shown together.
        unit: such as "%", or empty.
        note: what a reader must know to compare the two.
        headline: whether it is shown at the top of the report.
        digits: decimals to show.
    """

    name: str
    values: tuple[float, ...]
    published: float | None = None
    group: str = ""
    unit: str = ""
    note: str = ""
    headline: bool = False
    digits: int = 3

    @cached_property
    def interval(self) -> Interval:
        """Over the seeds."""
        return interval(self.values)

    @property
    def difference(self) -> float | None:
        """Ours less the published value."""
        return None if self.published is None else self.interval.mean - self.published

    @property
    def within(self) -> str:
        """How the published value lies to ours, in words.

        "yes" in the interval of our mean, "as one run" if outside but one more run of ours may give
        it, else "no"; empty without a value or an interval.
        """
        if self.published is None or self.interval.n == 1:
            return ""
        if self.interval.holds(self.published):
            return "yes"
        return "as one run" if self.interval.holds_run(self.published) else "no"


@dataclass(frozen=True, eq=False)
class ExperimentRecord:
    """One experiment, ready to be drawn, shown and compared; a round trip through a folder.

    Args:
        name: of the experiment, as typed.
        title: in words.
        source: where in the paper it stands.
        question: what was asked, one sentence.
        finding: what was found, one sentence.
        meaning: what this says about the paper's claim, in plain words; one paragraph each.
        scale: smoke, quick or paper.
        seeds: that were run.
        quantities: ours beside the published.
        series: arrays that the pictures are drawn from.
        settings: every setting in words, in the order to be shown.
        notes: warnings: runs that diverged, where we differ from the paper and why.
        environment: the machine and the versions.
        seconds: how long it took.
        command: what to type for the same again.
    """

    name: str
    title: str
    source: str
    question: str
    finding: str
    meaning: tuple[str, ...]
    scale: str
    seeds: tuple[int, ...]
    quantities: tuple[Quantity, ...]
    settings: Mapping[str, str]
    notes: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    command: str = ""
    series: Mapping[str, np.ndarray] = field(default_factory=dict)

    def find(self, name: str, group: str = "") -> Quantity:
        """The quantity of that name.

        Raises:
            KeyError: there is none.
        """
        for one in self.quantities:
            if (one.name, one.group) == (name, group):
                return one
        raise KeyError((name, group))

    def groups(self) -> dict[str, list[Quantity]]:
        """Quantities by group, in their order."""
        found: dict[str, list[Quantity]] = {}
        for one in self.quantities:
            found.setdefault(one.group, []).append(one)
        return found

    def to_json(self) -> str:
        """Everything but the series; each quantity with its mean and interval."""
        values = {name: value for name, value in vars(self).items() if name != "series"}
        values["quantities"] = [
            {**asdict(one), **asdict(one.interval), "difference": one.difference}
            for one in self.quantities
        ]
        return json.dumps(values, indent=2, default=dict) + "\n"

    def write(self, folder: Path) -> None:
        """``record.json`` and, where there are any, ``series.npz``."""
        (folder / RECORD).write_text(self.to_json(), encoding="utf-8")
        if self.series:
            np.savez_compressed(folder / SERIES, **self.series)  # type: ignore[arg-type]

    @classmethod
    def read(cls, folder: Path) -> ExperimentRecord:
        """From the folder of a run.

        Raises:
            ReadError: no such record, or another content.
        """
        try:
            given: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
            series: dict[str, np.ndarray] = {}
            if (folder / SERIES).exists():
                with np.load(folder / SERIES) as file:
                    series = dict(file)
            quantities = tuple(_quantity(one) for one in given.pop("quantities"))
            lists = {k: tuple(v) for k, v in given.items() if isinstance(v, list)}
            return cls(**{**given, **lists}, quantities=quantities, series=series)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReadError(f"expected the record of an experiment in {folder}: {error}") from None


def _quantity(given: dict[str, Any]) -> Quantity:
    """Without what is computed from it."""
    names = Quantity.__dataclass_fields__
    values = {name: value for name, value in given.items() if name in names}
    return Quantity(**{**values, "values": tuple(values["values"])})
