"""Expected relative change (appendix A.4), and equation (4) against real steps, on the torus."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from localelastic.errors import MeasurementError
from localelastic.experiments.activation import equation_4, patterns
from localelastic.experiments.cells import Failed, moments, survivors
from localelastic.experiments.experiment import PARALLEL, Cost, Costs, Experiment, Request
from localelastic.experiments.geometry_subject import (
    NEAR,
    SCALES,
    Fitted,
    GeometryScale,
    fit,
    published_lr,
    run_words,
)
from localelastic.experiments.published import published
from localelastic.experiments.sign_readout import Errors, Steps, errors
from localelastic.plots.relative_change import relative_change_figure
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.shapes import Progress

KINDS = {"ReLU": "two-layer", "linear": "two-layer-linear"}
UNTRAINED, PUBLISHED, STABLE = "untrained", "fitted, published step", "fitted, stable step"
MEAN = "mean relative similarity, self-pairs in"
OFF = "mean difference from equation (4)"
ASSUMED, REAL = "network of equation (4)", "network of the paper"
WIDTHS = {
    "smoke": (64, 256),
    "quick": (64, 640, 2560, 10240, 40960),
    "paper": (64, 160, 640, 2560, 10240, 40960),
}
SHARES = {
    "smoke": (1e-1, 1e-3),
    "quick": (1e-1, 1e-2, 1e-4, 1e-6),
    "paper": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6),
}
N_STEPPED = {"smoke": 8, "quick": 50, "paper": 50}


@dataclass(frozen=True)
class Cell:
    """One network on one sample."""

    kind: str
    scale: GeometryScale
    seed: int


def measured(cell: Cell) -> dict[str, dict[str, float] | Failed]:
    """Untrained, and fitted at the published step size; near its limit at a stable one too."""
    found: dict[str, dict[str, float] | Failed] = {}
    limit = 0.0
    for moment in (UNTRAINED, PUBLISHED, STABLE):
        if moment == STABLE and published_lr(cell.scale) <= NEAR * limit:
            continue
        try:
            fitted = fit(
                "torus",
                KINDS[cell.kind],
                cell.scale,
                seed=cell.seed,
                stable=moment == STABLE,
                epochs=0 if moment == UNTRAINED else None,
            )
            limit = fitted.limit
            found[moment] = means(fitted, cell.kind)
        except MeasurementError as error:
            found[moment] = Failed(str(error))
    return found


def means(fitted: Fitted, kind: str) -> dict[str, float]:
    """Over ordered pairs of primary points."""
    sample, signed = fitted.sample.primary, fitted.signed()
    apart = ~np.eye(len(signed), dtype=bool)
    points = sample.points
    if kind == "ReLU":
        said = equation_4(points, patterns(fitted.model, sample.examples.inputs))
    else:  # as if every unit were on
        said = equation_4(points, np.ones((len(points), 1)))
    found = {
        MEAN: float(np.abs(signed).mean()),
        "mean relative similarity, self-pairs out": float(np.abs(signed[apart]).mean()),
        "mean signed ratio, self-pairs in": float(signed.mean()),
        "mean signed ratio, self-pairs out": float(signed[apart].mean()),
        "share of negative changes": float((signed[apart] < 0).mean()),
        OFF: float(np.abs(signed - said)[apart].mean()),
    }
    if fitted.training is not None:
        found["training accuracy"] = fitted.training.accuracy
    return found


class RelativeChange(Experiment):
    """Means of relative changes, and what equation (4) says of them."""

    name = "relative-change"
    title = "expected relative change, and equation (4) against real steps"
    source = "Appendix A.4 and A.3, equation (4), section 2.3"
    takes = PARALLEL
    # Quick: 110 s of processor time on two cores. Paper: fits of 20 times the epochs and 16 times
    # the width, which took 5 s; both networks, both step sizes.
    costs = Costs(Cost(5.0, 0.5), Cost(60.0, 1.0, seeds=3), Cost(5400.0, 2.0, seeds=1))

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """The means with every seed; then steps of every size at every width."""
        scale, widths = SCALES[request.scale], WIDTHS[request.scale]
        shares = SHARES[request.scale]
        cells = [Cell(kind, scale, seed) for kind in KINDS for seed in request.seeds]
        stepped = [
            Steps(width, shares, assumed, seed, N_STEPPED[request.scale])
            for assumed in (True, False)
            for width in reversed(widths)
            for seed in request.seeds
        ]
        results = request.compute(measured, cells, progress=progress, stage="networks")
        steps = request.compute(errors, stepped, progress=progress, stage="real steps")
        notes: list[str] = []
        found: dict[tuple[str, str], list[dict[str, float]]] = {}
        for (cell, moment), numbers in survivors(moments(cells, results), run_words, notes):
            found.setdefault((cell.kind, moment), []).append(numbers)
        whole: dict[tuple[bool, int], list[Errors]] = {}
        for step, errs in survivors(
            zip(stepped, steps, strict=True), lambda s: f"{s.width} units, seed {s.seed}", notes
        ):
            whole.setdefault((step.assumed, step.width), []).append(errs)
        missing = {(assumed, width) for assumed in (True, False) for width in widths} - whole.keys()
        if missing or not {(kind, UNTRAINED) for kind in KINDS} <= found.keys():
            raise MeasurementError(f"nothing to compare with equation (4) (first: {notes[0]})")
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "By how much of its own change does a step at one point move another on average, and "
            "does equation (4) say so?",
            finding(found, whole, widths),
            meaning(found, whole, widths),
            request.scale,
            request.seeds,
            (*_means(found), *_errors(whole, widths, shares)),
            {
                "points": "50 primary and 50 auxiliary on the torus curve; changes of all ordered "
                "pairs of primary points",
                "networks of the means": f"two layers, {scale.units('two-layer'):,} hidden "
                f"units, {scale.epochs:,} epochs of full-batch gradient descent; changes in the "
                "limit of small steps",
                "published step": "1e-5 on the squared error without 1/2, relative to the width",
                "stable step": "two thirds of the stability limit, where the published is above "
                f"{NEAR:g} of it",
                ASSUMED: "readout +1 or -1 and not trained, normal hidden weights and biases, no "
                "bias of the output",
                REAL: "all weights trained, drawn as PyTorch draws them",
                "real steps": f"plain gradient steps in double precision on each of "
                f"{N_STEPPED[request.scale]} points of an untrained network, from "
                f"{shares[0]:g} to {shares[-1]:g} of the stability limit 2 / sharpness",
                "difference": "absolute difference of the signed ratio and equation (4), all "
                "ordered pairs of different points",
            },
            (
                *notes,
                "Real steps subtract predictions in double precision: the line of the smallest "
                "steps is in part rounding, not the error of the equation.",
            ),
            series=_series(whole, widths, shares),
        )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """Means, the equation against steps, and its error."""
        bars = {}
        for kind in KINDS:
            for moment in (UNTRAINED, PUBLISHED, STABLE):
                try:
                    bars[kind, moment] = record.find(MEAN, f"{kind}, {moment}").interval
                except KeyError:  # diverged, or the same as the published step
                    continue
        printed = published()["figures"]["expected relative change, torus"]
        figure = relative_change_figure(
            bars, {kind: printed[f"two-layer {kind}"] for kind in KINDS}, record.series
        )
        yield Picture(
            self.name,
            "Above: the mean relative similarity before and after the fit (bars: 95 % interval "
            "over seeds; dashed: published); then the ratio of changes that equation (4) says, "
            "against that of the largest real steps, at the largest width of the first seed, for "
            "the network that it is derived for and for the paper's. Below: the largest "
            "difference of the two over all pairs as the width grows, one line per step size as a "
            "share of the stability limit; and how much of the change at x goes through the "
            "hidden weights, the only part that the equation counts.",
            figure,
        )


def _means(found: Mapping[tuple[str, str], list[dict[str, float]]]) -> Iterator[Quantity]:
    printed = published()["figures"]["expected relative change, torus"]
    for (kind, moment), seeds in found.items():
        for name in seeds[0]:
            shown = name == MEAN and moment == PUBLISHED
            yield Quantity(
                name,
                tuple(one[name] for one in seeds),
                printed[f"two-layer {kind}"] if shown else None,
                f"{kind}, {moment}",
                note=(
                    "appendix A.4"
                    if shown
                    else "with every unit on: (x x' + 1) / (|x|\u00b2 + 1)"
                    if name == OFF and kind == "linear"
                    else ""
                ),
                headline=shown,
            )


def _errors(
    whole: Mapping[tuple[bool, int], list[Errors]],
    widths: Sequence[int],
    shares: Sequence[float],
) -> Iterator[Quantity]:
    for assumed in (True, False):
        for width in widths:
            seeds = whole[assumed, width]
            group = f"{ASSUMED if assumed else REAL}, {width:,} hidden units"
            for at in sorted({0, len(shares) // 2, len(shares) - 1}):
                for word, values in (
                    ("largest", tuple(one.largest[at] for one in seeds)),
                    ("median", tuple(one.median[at] for one in seeds)),
                ):
                    name = f"{word} difference, steps of {shares[at]:g} of the limit"
                    headline = word == "largest" and at == 0 and width == widths[-1]
                    yield Quantity(name, values, group=group, headline=headline, digits=4)
            limit = tuple(one.first_order[0] for one in seeds)
            yield Quantity("largest difference, limit of small steps", limit, group=group)
            share = tuple(100 * one.hidden_share for one in seeds)
            yield Quantity("change through hidden weights", share, group=group, unit="%")
            yield Quantity(
                "mean relative similarity by equation (4)",
                tuple(one.mean[0] for one in seeds),
                group=group,
            )
            yield Quantity(
                "mean relative similarity measured",
                tuple(one.mean[1] for one in seeds),
                group=group,
            )


def _series(
    whole: Mapping[tuple[bool, int], list[Errors]],
    widths: Sequence[int],
    shares: Sequence[float],
) -> dict[str, np.ndarray]:
    series = {"widths": np.array(widths), "shares": np.array(shares)}
    for assumed, name in ((True, "assumed"), (False, "real")):
        by_width = [whole[assumed, width] for width in widths]
        for word in ("largest", "median"):
            # The mean over seeds, of which some may be missing at some width.
            means = [np.mean([getattr(one, word) for one in seeds], axis=0) for seeds in by_width]
            series[f"{name}/{word}"] = np.array(means)
        share = [np.mean([one.hidden_share for one in seeds]) for seeds in by_width]
        series[f"{name}/hidden share"] = np.array(share)
        series[f"{name}/said"] = by_width[-1][0].said
        series[f"{name}/found"] = by_width[-1][0].found
    return series


def finding(
    found: Mapping[tuple[str, str], list[dict[str, float]]],
    whole: Mapping[tuple[bool, int], list[Errors]],
    widths: Sequence[int],
) -> str:
    """One sentence, of what was measured."""
    moment = PUBLISHED if {(kind, PUBLISHED) for kind in KINDS} <= found.keys() else UNTRAINED
    relu, linear = (np.mean([one[MEAN] for one in found[kind, moment]]) for kind in KINDS)
    own, real = (
        np.mean([one.largest[0] for one in whole[assumed, widths[-1]]]) for assumed in (True, False)
    )
    share = np.mean([one.hidden_share for one in whole[False, widths[-1]]])
    return (
        f"A step moves a point, itself included, by {relu:.2f} of its own change on average in "
        f"the ReLU network and by {linear:.2f} in the linear one ({moment}); equation (4) "
        f"holds in the network it is derived for (largest difference {own:.2g} at "
        f"{widths[-1]:,} units) but is "
        f"off by up to {real:.2g} in the paper's own, where {100 * share:.2g} % of a change goes "
        "through the weights that it counts."
    )


def meaning(
    found: Mapping[tuple[str, str], list[dict[str, float]]],
    whole: Mapping[tuple[bool, int], list[Errors]],
    widths: Sequence[int],
) -> tuple[str, ...]:
    """What a sceptic should know."""
    before = {kind: np.mean([one[MEAN] for one in found[kind, UNTRAINED]]) for kind in KINDS}
    wide = whole[False, widths[-1]]
    said, true = (float(np.mean([one.mean[i] for one in wide])) for i in (0, 1))
    return (
        "The mean relative change says plainly what local elasticity means: how much of a step "
        "reaches the others. It differs between the ReLU and the linear network before any "
        f"training ({before['ReLU']:.2f} and {before['linear']:.2f}), so it is the architecture "
        "and the set that make the difference, not the fit. In the linear network positive and "
        "negative changes are about as large and cancel in the signed mean; that is why the "
        "unsigned mean is the one to look at here.",
        "Equation (4) is exact for small steps if the readout is fixed at +1 or -1 and only the "
        "hidden weights move: then a shared active unit is a shared weight. Real steps turn some "
        "units on or off, which it leaves out; the share of those falls with the width and with "
        "the step, and so does its error.",
        "The paper's networks train the readout too, and start it at about 1 / sqrt(width). The "
        "gradient of the readout at x is the vector of hidden outputs, which is far larger there "
        "than the gradient of the hidden weights. So a change is almost wholly "
        "sum s(z) s(z') over sum s(z)\u00b2, which the equation has no term for. Both ratios fall "
        f"with the angle, but not alike: the equation says a mean relative similarity of "
        f"{said:.2f}, steps give {true:.2f}.",
    )


EXPERIMENTS = (RelativeChange(),)
