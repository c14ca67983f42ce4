"""Figure 7: activation patterns against distance, and a sigmoid network, on the torus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.spatial.distance import cdist

from localelastic.analysis import activation_cosine, correlation
from localelastic.errors import MeasurementError
from localelastic.experiments.activation import Growth, cosine_of_wide, growth, patterns
from localelastic.experiments.cells import Failed, moments, survivors
from localelastic.experiments.experiment import PARALLEL, Cost, Costs, Experiment, Request
from localelastic.experiments.geometry_subject import SCALES, Fitted, GeometryScale, fit, run_words
from localelastic.experiments.published import published
from localelastic.plots.distance import distance_scatter
from localelastic.plots.lines import Line, draw_lines
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.shapes import Progress, Square

NETWORKS = {"ReLU": "two-layer", "sigmoid": "two-layer-sigmoid", "linear": "two-layer-linear"}
MOMENTS = ("fitted", "untrained")
PATTERNS_OF = ("ReLU", "linear")
WIDTHS = {
    "smoke": (64, 256),
    "quick": (64, 256, 1024, 4096, 16384),
    "paper": (64, 256, 1024, 4096, 16384, 65536, 262144),
}
IN, OUT = "Pearson, self-pairs in", "Pearson, self-pairs out"
RANKS = "Spearman, self-pairs out"
UNSIGNED_PRINTED = "Pearson, unsigned, self-pairs in, published distance"
UNSIGNED_IN, UNSIGNED_OUT = "Pearson, unsigned, self-pairs in", "Pearson, unsigned, self-pairs out"
SIGNED_IN, SIGNED_OUT = "Pearson, signed, self-pairs in", "Pearson, signed, self-pairs out"
MEAN, NEGATIVE = "mean relative similarity", "share of negative changes"
LIMIT = "largest difference from 1 - angle / pi"


@dataclass(frozen=True)
class Cell:
    """One network on one sample, untrained and fitted."""

    kind: str
    scale: GeometryScale
    seed: int


@dataclass(frozen=True, eq=False)
class Measured:
    """At one moment."""

    relative: dict[str, float]
    pattern: dict[str, float]
    signed: Square
    cosine: Square
    geodesic: Square
    euclidean: Square
    wide: Square


def measured(cell: Cell) -> dict[str, Measured | Failed]:
    """Before and after the fit."""
    found: dict[str, Measured | Failed] = {}
    for moment in MOMENTS:
        epochs = 0 if moment == "untrained" else None
        try:
            network = NETWORKS[cell.kind]
            stable = cell.kind == "linear"  # past its limit at the published step size
            fitted = fit("torus", network, cell.scale, seed=cell.seed, stable=stable, epochs=epochs)
            found[moment] = of_fitted(fitted)
        except MeasurementError as error:
            found[moment] = Failed(str(error))
    return found


def of_fitted(fitted: Fitted) -> Measured:
    """The changes and the patterns at all pairs of primary points."""
    sample, signed = fitted.sample.primary, fitted.signed()
    points, along = sample.points, sample.distances()
    straight = cdist(points, points)
    cosine = activation_cosine(patterns(fitted.model, sample.examples.inputs))
    wide, unsigned = cosine_of_wide(points), np.abs(signed)
    apart = ~np.eye(len(signed), dtype=bool)
    printed = correlation(unsigned, sample.published_distances(), self_pairs=True)
    relative = {
        UNSIGNED_PRINTED: printed.pearson,
        UNSIGNED_IN: correlation(unsigned, along, self_pairs=True).pearson,
        UNSIGNED_OUT: correlation(unsigned, along).pearson,
        SIGNED_IN: correlation(signed, along, self_pairs=True).pearson,
        SIGNED_OUT: correlation(signed, along).pearson,
        "Spearman, signed, self-pairs out": correlation(signed, along).spearman,
        MEAN: float(unsigned.mean()),
        "smallest relative similarity": float(unsigned.min()),
        NEGATIVE: float((signed[apart] < 0).mean()),
    }
    if fitted.training is not None:
        relative["training accuracy"] = fitted.training.accuracy
    pattern = {
        IN: correlation(cosine, straight, self_pairs=True).pearson,
        OUT: correlation(cosine, straight).pearson,
        RANKS: correlation(cosine, straight).spearman,
        LIMIT: float(np.abs(cosine - wide).max()),
    }
    return Measured(relative, pattern, signed, cosine, along, straight, wide)


class Figure7(Experiment):
    """Panels a and b, both before and after the fit."""

    name = "figure7"
    title = "activation patterns against distance; a sigmoid network, on the torus"
    source = "Figure 7, appendix A.4"
    takes = PARALLEL
    # Paper: full batches cost 20 times the epochs and 16 times the width of quick, one seed.
    costs = Costs(Cost(3.0, 0.5), Cost(70.0, 0.6, seeds=5), Cost(1.5 * 3600, 2.0, seeds=1))

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """Fit three networks with every seed; grow the untrained one."""
        scale, widths = SCALES[request.scale], WIDTHS[request.scale]
        cells = [Cell(kind, scale, seed) for kind in NETWORKS for seed in request.seeds]
        results = request.compute(measured, cells, progress=progress, stage="networks")
        found: dict[tuple[str, str], list[Measured]] = {}
        series: dict[str, np.ndarray] = {}
        notes: list[str] = []
        for (cell, moment), one in survivors(moments(cells, results), run_words, notes):
            found.setdefault((cell.kind, moment), []).append(one)
            if cell.seed == request.seeds[0]:
                series[f"{cell.kind}/{moment}/signed"] = one.signed
                series[f"{cell.kind}/{moment}/cosine"] = one.cosine
                for name in ("geodesic", "euclidean", "wide"):
                    series[name] = getattr(one, name)
        if not {("ReLU", "fitted"), ("sigmoid", "fitted")} <= found.keys():
            raise MeasurementError(f"no fit to show came to an end (first: {notes[0]})")
        grown = request.compute(
            growth, [Growth(widths, s) for s in request.seeds], progress=progress, stage="widths"
        )
        both = [one for one in grown if not isinstance(one, Failed)]
        series["widths"] = np.array(widths)
        series["normal"] = np.array([normal for normal, _ in both])
        series["drawn"] = np.array([drawn for _, drawn in both])
        quantities = (*_patterns(found), *_growth(series), *_relative(found))
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "Do points that are near each other turn on the same hidden units, and is a sigmoid "
            "network locally elastic too?",
            finding(found),
            meaning(found),
            request.scale,
            request.seeds,
            quantities,
            {
                "points": "50 primary and 50 auxiliary on the torus curve, uniform angles, "
                "no noise",
                "networks": f"two layers, {scale.units('two-layer'):,} hidden units; "
                "published 40,960",
                "fit": f"{scale.epochs:,} epochs of full-batch gradient descent, squared loss, at "
                "the published step size; the linear network at two thirds of its stability limit, "
                "which the published one is above (figure 1 has both)",
                "activation pattern": "which hidden units see more than 0; cosine of the binary "
                "patterns of two points, against their Euclidean distance",
                "relative similarity": "changes of all ordered pairs of primary points in the "
                "limit of small steps, not symmetrised, against the distance along the curve; "
                "published distance: difference of angles",
            },
            (
                *notes,
                "The paper prints magnitudes; both correlations are negative and are shown so.",
            ),
            series=series,
        )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """Patterns above, changes below."""
        series = record.series
        apart = ~np.eye(len(series["geodesic"]), dtype=bool)
        figure = Figure(figsize=(10.5, 6.4), layout="constrained")
        grid = figure.subplots(2, 3)
        for axes, moment in zip(grid[0], MOMENTS, strict=False):
            _pattern_panel(axes, record, moment, apart)
        grid[0, 0].set_ylabel("cosine of activation patterns", fontsize=9)
        _growth_panel(grid[0, 2], series)
        for axes, kind in zip(grid[1], NETWORKS, strict=True):
            if f"{kind}/fitted/signed" not in series:
                axes.text(0.5, 0.5, "diverged", ha="center", transform=axes.transAxes)
                axes.set_axis_off()
                continue
            group = _relative_group(kind, "fitted")
            unsigned, signed = (
                record.find(name, group).interval.mean for name in (UNSIGNED_OUT, SIGNED_OUT)
            )
            distance_scatter(
                axes,
                series["geodesic"][apart],
                series[f"{kind}/fitted/signed"][apart],
                folded=False,
                title=f"{kind}: change at x' over change at x\n"
                f"Pearson {signed:.2f} signed, {unsigned:.2f} unsigned".replace("-", "\u2212"),
                label="geodesic distance",
            )
            axes.set_ylim(-1.15, 1.4)
        grid[1, 0].set_ylabel("change relative to self-change", fontsize=9)
        yield Picture(
            self.name,
            "Above: how alike the sets of active ReLU units are at two points, against their "
            "Euclidean distance, after the fit (figure 7a) and before it, where small orange dots "
            "are the closed form for infinitely many normal units; and how far untrained patterns "
            "are from that form as the width grows, with bands from the least to the most of the "
            "seeds. Below: the signed change at x' over the change at x, after the fit, for the "
            "ReLU, the sigmoid (figure 7b) and the linear network. Pairs of different primary "
            "points of the first seed; correlations are means over the seeds, without self-pairs.",
            figure,
        )


def _pattern_panel(axes: Axes, record: ExperimentRecord, moment: str, apart: np.ndarray) -> None:
    series = record.series
    pearson = record.find(OUT, _pattern_group("ReLU", moment)).interval.mean
    distance_scatter(
        axes,
        series["euclidean"][apart],
        series[f"ReLU/{moment}/cosine"][apart],
        folded=False,
        title=f"ReLU, {moment}: active units\nPearson {pearson:.3f}".replace("-", "\u2212"),
        label="Euclidean distance",
    )
    if moment == "untrained":
        axes.scatter(
            series["euclidean"][apart],
            series["wide"][apart],
            s=2,
            color="#d55e00",
            linewidth=0,
            label="closed form 1 \u2212 angle/\u03c0, infinite width",
        )
        axes.legend(frameon=False, fontsize=8, loc="upper right", markerscale=3)
    axes.set_ylim(0, 1.05)


def _growth_panel(axes: Axes, series: Mapping[str, np.ndarray]) -> None:
    widths = series["widths"].astype(float)
    guide = series["normal"].mean(axis=0)[0] * np.sqrt(widths[0] / widths)
    draw_lines(
        axes,
        widths,
        (
            Line("normal weights", series["normal"], 0),
            Line("uniform weights, as PyTorch draws them", series["drawn"], 1),
            Line("1 / \u221awidth", guide[None], 5, dashed=True),
        ),
        title="untrained: largest difference\nfrom the closed form",
        across="hidden units",
        logarithmic=True,
    )
    low, high = axes.get_ylim()
    axes.set_ylim(low / 4, high)
    axes.legend(frameon=False, fontsize=8, loc="lower left")


def _pattern_group(kind: str, moment: str) -> str:
    of = "ReLU network" if kind == "ReLU" else "linear twin, signs of its hidden units"
    return f"a: activation cosine against Euclidean distance, {of}, {moment}"


def _relative_group(kind: str, moment: str) -> str:
    return f"b: relative similarity against geodesic distance, {kind}, {moment}"


def _patterns(found: dict[tuple[str, str], list[Measured]]) -> Iterator[Quantity]:
    printed = published()["figures"]["figure7"]["a |Pearson| activation cosine vs Euclidean, torus"]
    for (kind, moment), seeds in found.items():
        if kind not in PATTERNS_OF:
            continue
        for name in seeds[0].pattern:
            shown = name == IN and (kind, moment) == ("ReLU", "fitted")
            yield Quantity(
                name,
                tuple(one.pattern[name] for one in seeds),
                -printed if shown else None,
                _pattern_group(kind, moment),
                note="printed as a magnitude" if shown else "",
                headline=name == IN and kind == "ReLU",
            )


def _growth(series: Mapping[str, np.ndarray]) -> Iterator[Quantity]:
    for name, words in (("normal", "normal weights"), ("drawn", "weights as PyTorch draws them")):
        for column, width in enumerate(series["widths"]):
            yield Quantity(
                f"{words}, {width:,} units",
                tuple(map(float, series[name][:, column])),
                group=f"a: untrained patterns, {LIMIT}",
                digits=4,
            )


def _relative(found: dict[tuple[str, str], list[Measured]]) -> Iterator[Quantity]:
    figures = published()["figures"]
    sigmoid = figures["figure7"]["b sigmoid |Pearson| relative similarity vs geodesic, torus"]
    one = figures["figure1"]
    printed = {
        ("sigmoid", UNSIGNED_PRINTED): (-sigmoid, "printed as a magnitude"),
        ("ReLU", UNSIGNED_PRINTED): (-one["b torus two-layer ReLU |Pearson|"], "figure 1b"),
        ("linear", UNSIGNED_PRINTED): (
            -one["c torus two-layer linear |Pearson|"],
            "figure 1c; ours at a stable step size",
        ),
    }
    for (kind, moment), seeds in found.items():
        for name in seeds[0].relative:
            value, note = (
                printed.get((kind, name), (None, "")) if moment == "fitted" else (None, "")
            )
            yield Quantity(
                name,
                tuple(one.relative[name] for one in seeds),
                value,
                _relative_group(kind, moment),
                note=note,
                headline=(kind, moment) == ("sigmoid", "fitted")
                and name in (UNSIGNED_PRINTED, MEAN),
            )


def _mean(
    found: dict[tuple[str, str], list[Measured]], kind: str, moment: str, name: str
) -> float | None:
    values = [{**one.relative, **one.pattern}[name] for one in found.get((kind, moment), [])]
    return float(np.mean(values)) if values else None


def finding(found: dict[tuple[str, str], list[Measured]]) -> str:
    """One sentence, of what was measured."""
    pattern, before = (_mean(found, "ReLU", moment, IN) for moment in MOMENTS)
    sigmoid, start = (_mean(found, "sigmoid", moment, UNSIGNED_IN) for moment in MOMENTS)
    size = _mean(found, "sigmoid", "fitted", MEAN)
    return (
        f"Both correlations are there, Pearson {pattern:.2f} for activation patterns and "
        f"{sigmoid:.2f} for the sigmoid network, and both are there before any training "
        f"({before:.2f} and {start:.2f}); a step moves an average prediction of the sigmoid "
        f"network by {size:.2f} of its own change."
    )


def meaning(found: dict[tuple[str, str], list[Measured]]) -> tuple[str, ...]:
    """What a sceptic should know."""
    of = {kind: _mean(found, kind, "fitted", MEAN) for kind in NETWORKS}
    sizes = ", ".join(f"{value:.2f} {kind}" for kind, value in of.items() if value is not None)
    twin = _mean(found, "linear", "fitted", IN)
    beside = (
        ""
        if twin is None
        else f" The linear twin, which has no activation at all, has the same correlation "
        f"({twin:.2f}) if the signs of its hidden units are taken for a pattern."
    )
    return (
        "A hidden unit is on at one side of a hyperplane. Two points share a unit unless the "
        "hyperplane passes between them, so the share of units on at both falls with the angle "
        "between the points: for random weights it is 1 - angle / pi in the limit. On a curve "
        "around the origin the angle grows with the distance. So the correlation of panel a is "
        "that of random hyperplanes with the geometry of the set; the numbers before and after "
        f"the fit show how little training adds to it here.{beside}",
        "A high correlation does not say that a step is local. It is blind to the height of the "
        f"curve: the mean relative change is {sizes}. A network whose every prediction moves by "
        "a half or more of the change at x, and a little more near x, can have a correlation of "
        "nearly one. Whether far predictions stay where they were is seen in the lower pictures "
        "by how near to zero the dots come on the right.",
    )


EXPERIMENTS = (Figure7(),)
