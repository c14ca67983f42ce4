"""Figures 1 and 4: how much a step at one point moves another, against their distance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from localelastic.analysis import correlation
from localelastic.data.geometry import GEOMETRIES
from localelastic.errors import MeasurementError
from localelastic.experiments.cells import Failed, moments, survivors
from localelastic.experiments.experiment import PARALLEL, Cost, Costs, Experiment, Request
from localelastic.experiments.geometry_subject import (
    NEAR,
    SCALES,
    Fitted,
    GeometryScale,
    fit,
    published_lr,
)
from localelastic.experiments.published import published
from localelastic.plots.distance import distance_scatter, set_view
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.report.inline import MINUS
from localelastic.shapes import Progress, Square

RELU, LINEAR = "ReLU", "linear"
PUBLISHED, STABLE = "published step", "stable step"
UNSIGNED = "Pearson, unsigned"
SIGNED = "Pearson, signed"
AS_PRINTED = "Pearson, unsigned, self-pairs in, published distance"
MEAN = "mean relative similarity"
_FOLDED = -0.5
"""A weaker correlation than this does not follow the distance."""


@dataclass(frozen=True)
class Subject:
    """One network on one set at one step size."""

    geometry: str
    network: str
    step: str

    @property
    def kind(self) -> str:
        """ReLU or linear."""
        return LINEAR if self.network.endswith("-linear") else RELU

    @property
    def group(self) -> str:
        """In words."""
        return f"{self.geometry}, {self.kind}, {self.step}"


Found = dict[Subject, list[dict[str, float]]]


class DistanceFigure(Experiment):
    """Some sets, each with the ReLU network and its linear twin."""

    takes = PARALLEL | {"only"}
    geometries: tuple[tuple[str, str], ...]
    """Each set, and the family of networks fitted to it."""

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """Fit and measure every network on every set, with every seed and at both step sizes."""
        asked = request.asked([name for name, _ in self.geometries], self.name)
        cells = [
            Cell(geometry, network, SCALES[request.scale], seed)
            for geometry, family in self.geometries
            if geometry in asked
            for network in (family, f"{family}-linear")
            for seed in request.seeds
        ]
        found: Found = {}
        series: dict[str, np.ndarray] = {}
        notes: list[str] = []
        results = request.compute(measured, cells, progress=progress, stage="networks")
        for (cell, step), one in survivors(
            moments(cells, results),
            lambda run: f"{run[0].subject(run[1]).group}, seed {run[0].seed}",
            notes,
        ):
            subject = cell.subject(step)
            found.setdefault(subject, []).append(one.numbers)
            if cell.seed == request.seeds[0]:
                series[f"{subject.group}/signed"] = one.signed
                series[f"{subject.geometry}/distances"] = one.distances
                series[f"{subject.geometry}/points"] = one.points
        quantities = tuple(
            one for subject, seeds in found.items() for one in self._quantities(subject, seeds)
        )
        if not quantities:
            raise MeasurementError(f"every fit diverged (first: {notes[0]})")
        scale = SCALES[request.scale]
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "A step at one point of a curve or surface: how far do predictions move at the others, "
            "and does that follow the distance along the set?",
            self.finding(found),
            self.meaning(found),
            request.scale,
            request.seeds,
            quantities,
            {
                "points": "50 primary and 50 auxiliary, uniform in their coordinates, no noise",
                "networks": f"{scale.width:g} of the published width (40,960; 8,192 twice)",
                "fit": f"{scale.epochs:,} epochs of full-batch gradient descent, squared loss",
                "published step": "1e-5 on the squared error without 1/2, divided by the share of "
                "the width: curvature grows with the width, so it stays where it was relative "
                "to the stability limit",
                "stable step": "two thirds of the stability limit 2 / sharpness at initialisation, "
                f"where the published one is above {NEAR:g} of it; else that stands alone",
                "measured": "changes of all ordered pairs of primary points in the limit of small "
                "steps, not symmetrised, once after the fit",
                "distance": "along the set; beside it what the paper's scripts took, where it "
                "differs",
            },
            tuple(notes),
            series=series,
        )

    def _quantities(self, subject: Subject, seeds: list[dict[str, float]]) -> Iterator[Quantity]:
        for name in seeds[0]:
            value, note = self.printed(subject, name)
            yield Quantity(
                name,
                tuple(one[name] for one in seeds),
                value,
                subject.group,
                note=note,
                headline=(name == UNSIGNED and subject.step == PUBLISHED)
                or (name == SIGNED and subject.kind == LINEAR and subject.step == PUBLISHED),
            )

    def printed(self, subject: Subject, name: str) -> tuple[float | None, str]:
        """The published value of a quantity, and how it is to be read."""
        return None, ""

    def finding(self, found: Found) -> str:
        """One sentence."""
        relu, signed = _stable(found, RELU, UNSIGNED), _stable(found, LINEAR, SIGNED)
        if relu is None or signed is None:
            return "Too many fits diverged to compare the two networks: see the notes."
        names = [name.replace("-", " ") for name in dict.fromkeys(one.geometry for one in found)]
        sets = " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))
        more = "more" if abs(signed) > abs(relu) else "less"
        return (
            f"On {sets} the change falls with the distance in the ReLU network (mean Pearson "
            f"{relu:.2f}). In the linear one at a stable step it {_folded(found)}; with its sign "
            f"the linear change follows the distance {more} strongly ({signed:.2f})."
        )

    def meaning(self, found: Found) -> tuple[str, ...]:
        """What a sceptic should know."""
        return (
            "A linear network's prediction at x' changes by (x x' + 1) / (x x + 1) of the change "
            "at x. On a closed curve around the origin that is close to the cosine of the angle "
            "between the two: it falls steadily with the distance, through zero, to minus one on "
            "the far side. So the signed change follows the distance there, and often better than "
            "the ReLU network's does.",
            "The relative similarity (eq. 2) takes absolute values. They fold the far side, where "
            "the change is large and opposite, onto the near side: the triangles in the pictures. "
            "The published contrast between the two networks rests on this fold. What remains of "
            "the claim: a linear network moves the far side as much as the near one, the other "
            "way; the ReLU network leaves it nearly alone. That is local elasticity, and the mean "
            "of the relative change shows it more plainly than a correlation with distance does.",
        )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """One row per set: the set, both networks unsigned, both signed."""
        shown = [name for name, _ in self.geometries if f"{name}/distances" in record.series]
        if not shown:
            return
        figure = Figure(figsize=(11.5, 2.9 * len(shown)), layout="constrained")
        grid = figure.add_gridspec(len(shown), 5, width_ratios=[1.15, 1, 1, 1, 1])
        for row, geometry in enumerate(shown):
            points = record.series[f"{geometry}/points"]
            view = figure.add_subplot(
                grid[row, 0], projection="3d" if points.shape[1] == 3 else None
            )
            primary = np.arange(len(points)) < len(points) // 2
            set_view(view, points, primary, title=geometry.replace("-", " "))
            distances = record.series[f"{geometry}/distances"]
            apart = ~np.eye(len(distances), dtype=bool)
            for column, (kind, step, folded) in enumerate(_panels(geometry, record), start=1):
                axes = figure.add_subplot(grid[row, column])
                group = f"{geometry}, {kind}, {step}"
                if f"{group}/signed" not in record.series:
                    words = f"{kind}, {step}:\nthe fit diverged"
                    axes.text(0.5, 0.5, words, ha="center", transform=axes.transAxes, fontsize=9)
                    axes.set_axis_off()
                    continue
                pearson = record.find(UNSIGNED if folded else SIGNED, group).interval.mean
                distance_scatter(
                    axes,
                    distances[apart],
                    record.series[f"{group}/signed"][apart],
                    folded=folded,
                    title=f"{kind}, {step}\n{'unsigned' if folded else 'signed'}, "
                    f"Pearson {pearson:.2f}".replace("-", MINUS),
                    label="geodesic distance" if row == len(shown) - 1 else "",
                )
                if column == 1:
                    axes.set_ylabel("change relative to self-change", fontsize=9)
        yield Picture(
            self.name,
            "Left: the sets (circles primary, triangles auxiliary). Then: the change at x' "
            "over the change at x, against the geodesic distance of the two, all pairs of "
            "different primary points of the first seed. Unsigned as in the paper, where triangles "
            "are changes whose minus sign is lost; then signed. A stable step is shown where the "
            "published one is near or past the stability limit. Correlations are means over seeds.",
            figure,
        )


@dataclass(frozen=True)
class Cell:
    """One network on one sample."""

    geometry: str
    network: str
    scale: GeometryScale
    seed: int

    def subject(self, step: str) -> Subject:
        """At one of the step sizes."""
        return Subject(self.geometry, self.network, step)


@dataclass(frozen=True, eq=False)
class Measured:
    """What one fit gave: its numbers, and what a picture is drawn from."""

    numbers: dict[str, float]
    signed: Square
    distances: Square
    points: Float[np.ndarray, "p d"]  # of both sides


def measured(cell: Cell) -> dict[str, Measured | Failed]:
    """At the published step size and, where that is near the limit, at the stable one."""
    found: dict[str, Measured | Failed] = {}
    limit = 0.0
    for step in (PUBLISHED, STABLE):
        if step == STABLE and published_lr(cell.scale) <= NEAR * limit:
            continue
        try:
            fitted = fit(
                cell.geometry, cell.network, cell.scale, seed=cell.seed, stable=step == STABLE
            )
            limit = fitted.limit
            found[step] = _measured(fitted)
        except MeasurementError as error:
            found[step] = Failed(str(error))
    return found


def _measured(fitted: Fitted) -> Measured:
    sample, signed = fitted.sample.primary, fitted.signed()
    unsigned, true = np.abs(signed), sample.distances()
    plain, with_sign = correlation(unsigned, true), correlation(signed, true)
    others = ~np.eye(len(signed), dtype=bool)
    as_printed = correlation(unsigned, sample.published_distances(), self_pairs=True)
    numbers = {
        AS_PRINTED: as_printed.pearson,
        UNSIGNED: plain.pearson,
        SIGNED: with_sign.pearson,
        "Spearman, unsigned": plain.spearman,
        "Spearman, signed": with_sign.spearman,
        "Pearson, unsigned, self-pairs in": correlation(unsigned, true, self_pairs=True).pearson,
        MEAN: float(unsigned.mean()),
        "mean signed ratio, self-pairs out": float(signed[others].mean()),
        "step size as a share of the stability limit": fitted.lr / fitted.limit,
        "training accuracy": 0.0 if fitted.training is None else fitted.training.accuracy,
    }
    return Measured(numbers, signed, true, fitted.sample.points)


def _panels(geometry: str, record: ExperimentRecord) -> list[tuple[str, str, bool]]:
    """Network, step size, and whether signs are dropped."""
    relu, linear = (
        STABLE if f"{geometry}, {kind}, {STABLE}/signed" in record.series else PUBLISHED
        for kind in (RELU, LINEAR)
    )
    third = (RELU, relu, False) if linear == PUBLISHED else (LINEAR, linear, True)
    return [(RELU, relu, True), (LINEAR, PUBLISHED, True), third, (LINEAR, linear, False)]


def _folded(found: Found) -> str:
    """Where dropping the signs hides how the linear change follows the distance, and where not."""
    words: dict[bool, list[str]] = {True: [], False: []}
    for geometry in dict.fromkeys(subject.geometry for subject in found):
        value = _stable(found, LINEAR, UNSIGNED, geometry)
        if value is not None:
            words[value > _FOLDED].append(f"{geometry.replace('-', ' ')} {value:.2f}")
    hidden, seen = (", ".join(words[key]) for key in (True, False))
    parts = [f"does not once signs are dropped ({hidden})"] if hidden else []
    parts += (
        [f"does even so on other sets ({seen})" if hidden else f"does too ({seen})"] if seen else []
    )
    return " and ".join(parts)


def _stable(found: Found, kind: str, name: str, only: str | None = None) -> float | None:
    """Over sets and seeds, of fits at a stable step: the published one where that is."""
    geometries = {subject.geometry for subject in found if only in (None, subject.geometry)}
    values = []
    for geometry in geometries:
        steps = {
            s.step: seeds for s, seeds in found.items() if (s.geometry, s.kind) == (geometry, kind)
        }
        values += [one[name] for one in steps.get(STABLE, steps.get(PUBLISHED, []))]
    return float(np.mean(values)) if values else None


class Figure1(DistanceFigure):
    """Figure 1: torus and two folded boxes."""

    name = "figure1"
    title = "relative change against geodesic distance: torus, folded boxes"
    source = "Figure 1, section 1"
    geometries = (("torus", "two-layer"), ("folded-boxes", "three-layer"))
    costs = Costs(Cost(3.0, 0.5), Cost(90.0, 0.6, seeds=5), Cost(8 * 3600.0, 4.0, seeds=1))

    def printed(self, subject: Subject, name: str) -> tuple[float | None, str]:
        """Under the figure's panels, as magnitudes; appendix A.4 has the means on the torus."""
        figures = published()["figures"]
        kind = "two-layer" if subject.geometry == "torus" else "three-layer"
        if subject.step != PUBLISHED:
            return None, ""
        if name == AS_PRINTED:
            panel = {"torus": "bc", "folded-boxes": "ef"}[subject.geometry]
            letter = panel[subject.kind == LINEAR]
            where = "torus" if subject.geometry == "torus" else "folded boxes"
            key = f"{letter} {where} {kind} {subject.kind} |Pearson|"
            return -figures["figure1"][key], "printed as a magnitude"
        if name == MEAN and subject.geometry == "torus":
            key = f"two-layer {subject.kind}"
            return figures["expected relative change, torus"][key], "appendix A.4"
        return None, ""


class Figure4(DistanceFigure):
    """Figure 4: the other four sets."""

    name = "figure4"
    title = "relative change against geodesic distance: the other sets"
    source = "Figure 4, appendix A.2"
    geometries = tuple(
        (name, "two-layer") for name in ("cosines", "double-helix", "cycles", "spheres")
    )
    costs = Costs(Cost(3.0, 0.5), Cost(60.0, 0.6, seeds=5), Cost(1.5 * 3600, 2.0, seeds=1))


EXPERIMENTS = (Figure1(), Figure4())
assert {name for name, _ in (*Figure1.geometries, *Figure4.geometries)} <= GEOMETRIES.keys()
