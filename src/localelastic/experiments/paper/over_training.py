"""Local elasticity over training: the paper measures once, after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from localelastic.errors import MeasurementError
from localelastic.experiments.along_training import (
    Found,
    Run,
    along_digits,
    along_torus,
    units,
)
from localelastic.experiments.cells import survivors
from localelastic.experiments.experiment import PARALLEL, Cost, Costs, Experiment, Request
from localelastic.plots.over_training import over_training_figure
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.shapes import Progress

RELU, LINEAR = "torus, ReLU", "torus, linear"
STABLE = "digits, two-layer ReLU, stable step"
UNSTABLE = "digits, two-layer ReLU, published step"
CNN = "digits, CNN"
SCALES = {
    "smoke": (1 / 640, 20, 4, 20),
    "quick": (1 / 4, 160, 10, 100),
    "paper": (1.0, 8000, 14, 1000),
}
"""Width of the two-layer network on digits as a share of the published, steps, places to look at,
digits of each side."""
TORUS = {"smoke": (1 / 640, 20), "quick": (1 / 16, 1000), "paper": (1.0, 20000)}
"""Width and epochs on the torus."""
CNN_STEPS = {"smoke": 3, "quick": 100, "paper": 480}
WORDS = {
    "loss": "loss",
    "mean": "mean relative similarity",
    "unsigned": "Pearson, unsigned",
    "signed": "Pearson, signed",
    "step size over limit": "step size over stability limit",
    "alive": "share of units alive",
    "normalized, within": "normalized kernel, mean within classes",
    "normalized, between": "normalized kernel, mean between classes",
    "relative, within": "relative similarity, mean within classes",
    "relative, between": "relative similarity, mean between classes",
    "normalized, accuracy": "accuracy of clusters, normalized kernel",
    "relative, accuracy": "accuracy of clusters, relative similarity",
    "chance": "accuracy of random labels",
}


def runs(scale: str, seed: int) -> dict[str, Run]:
    """Every training of one seed."""
    width, steps, stops, n = SCALES[scale]
    small, epochs = TORUS[scale]
    return {
        RELU: Run("two-layer", small, epochs, stops, False, seed),
        LINEAR: Run("two-layer-linear", small, epochs, stops, False, seed),
        STABLE: Run("two-layer", width, steps, stops, False, seed, n),
        UNSTABLE: Run("two-layer", width, steps, stops, True, seed, n),
        CNN: Run("cnn", 1.0, CNN_STEPS[scale], stops, False, seed, n),
    }


def along(cell: tuple[str, Run]) -> Found:
    """One training.

    Raises:
        MeasurementError: it diverged.
    """
    name, run = cell
    return (along_torus if name.startswith("torus") else along_digits)(run)


class OverTraining(Experiment):
    """The same numbers from initialisation to fit, and past an unstable step size."""

    name = "over-training"
    title = "similarities from initialisation to fit"
    source = "Beyond the paper, which measures once; section 3 on pre-trained weights"
    takes = PARALLEL
    # Quick: 80 s of processor time a seed, on two cores. Paper: estimated from it, 50 times the
    # steps at four times the width and ten times the digits.
    costs = Costs(Cost(5.0, 0.6), Cost(100.0, 1.5, seeds=2), Cost(5 * 3600.0, 8.0, seeds=1))

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """Every training with every seed."""
        cells = [one for seed in request.seeds for one in runs(request.scale, seed).items()]
        results = request.compute(along, cells, progress=progress, stage="trainings")
        notes: list[str] = []
        whole: dict[str, list[Found]] = {}
        for (name, _), one in survivors(
            zip(cells, results, strict=True), lambda c: f"{c[0]}, seed {c[1].seed}", notes
        ):
            whole.setdefault(name, []).append(one)
        if not {RELU, LINEAR, STABLE, CNN} <= whole.keys():
            raise MeasurementError(f"a training came to nothing in every seed (first: {notes[0]})")
        for name, seeds in whole.items():
            dark = max(max(one.get("dark examples", [0.0])) for one in seeds)
            if dark > 0:
                notes.append(
                    f"{name}: at some time up to {100 * dark:.0f} % of the digits had no unit on; "
                    "a step on one of these moves the output bias alone, and so all alike."
                )
        width, steps, _, n = SCALES[request.scale]
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "Is local elasticity learned, or there from the start?",
            finding(whole),
            meaning(whole),
            request.scale,
            request.seeds,
            tuple(_quantities(whole)),
            {
                "torus": f"figure 1's points and networks, {TORUS[request.scale][1]:,} epochs of "
                "full batches, at the published step size or, where that is less, two thirds of "
                "the stability limit",
                "digits": f"{n} of 5 and 8 against {n} of 3 and 9, mini-batches of 50",
                "two-layer network": f"{units(width):,} hidden units, {steps:,} steps",
                "published step": "3e-3 on the squared error without 1/2, at 40,960 units; times "
                "the share of the width, so that it stays where it was relative to the limit",
                "stable step": "a quarter of the stability limit 2 / sharpness at the start",
                "CNN": f"{CNN_STEPS[request.scale]:,} steps, momentum 0.9, step size 0.01 or a "
                "quarter of the limit",
                "similarities": "in the limit of small steps, symmetrised, between primary digits "
                "at the weights of that moment; pairs of a digit with itself are left out",
                "clusters": "kernel K-means (20 starts) of the normalized kernel; K-means of the "
                "rows of the relative similarity",
            },
            tuple(notes),
            series=_series(whole),
        )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """The torus, the digits, and what an unstable step size does."""
        yield Picture(
            self.name,
            "Lines are means over the seeds, bands run from the least to the most; "
            "the left end is the untrained network. Top: on the torus. Middle: digits of one class "
            "(solid) and of two (dashed), and the accuracy of clusters beside that of random "
            "labels. Bottom: the same two-layer network at a stable and at the published step "
            "size: the loss, the share of hidden units that are on at any example, and the step "
            "size over the stability limit of that moment, which is 1 where the dashed line is.",
            over_training_figure(record.series, (RELU, LINEAR), (STABLE, UNSTABLE, CNN)),
        )


def _quantities(whole: Mapping[str, list[Found]]) -> Iterator[Quantity]:
    for name, seeds in whole.items():
        for key, words in WORDS.items():
            if key not in seeds[0]:
                continue
            for at, moment in ((0, "at the start"), (-1, "at the end")):
                values = tuple(one[key][at] for one in seeds if np.isfinite(one[key][at]))
                if not values:
                    continue
                missing = len(seeds) - len(values)
                yield Quantity(
                    f"{words}, {moment}",
                    values,
                    group=name,
                    note=f"{missing} seeds without clusters" if missing else "",
                    headline=(name, key) in ((RELU, "mean"), (CNN, "normalized, accuracy")),
                )
        for kind in ("normalized", "relative"):
            if f"{kind}, within" not in seeds[0]:
                continue
            for at, moment in ((0, "at the start"), (-1, "at the end")):
                pairs = [(s[f"{kind}, within"][at], s[f"{kind}, between"][at]) for s in seeds]
                if all(between > 0 for _, between in pairs):
                    ratios = tuple(within / between for within, between in pairs)
                    words = f"{kind}: mean within over mean between, {moment}"
                    yield Quantity(words, ratios, group=name)
        if "alive" in seeds[0]:
            for key, words, most in (
                ("loss", "largest loss seen", max),
                ("step size over limit", "largest step size over limit", max),
            ):
                yield Quantity(words, tuple(most(one[key]) for one in seeds), group=name)


def _series(whole: Mapping[str, list[Found]]) -> dict[str, np.ndarray]:
    """``(seeds, stops)`` each; all seeds stop at the same steps."""
    return {
        f"{name}/{key}": np.array([one[key] for one in seeds])
        for name, seeds in whole.items()
        for key in seeds[0]
    }


def _ends(whole: Mapping[str, list[Found]], name: str, key: str) -> tuple[float, float]:
    """The means over seeds at the start and at the end, of those with a value."""
    values = np.array([one[key] for one in whole[name]])[:, [0, -1]]
    start, end = (float(np.nanmean(v)) if np.isfinite(v).any() else np.nan for v in values.T)
    return start, end


def finding(whole: Mapping[str, list[Found]]) -> str:
    """One sentence, of what was measured."""
    mean, cnn = _ends(whole, RELU, "mean"), _ends(whole, CNN, "normalized, accuracy")
    rows = _ends(whole, CNN, "relative, accuracy")
    text = (
        f"From initialisation to fit the mean relative change on the torus goes from {mean[0]:.3f} "
        f"to {mean[1]:.3f}; the CNN's steps cluster digits at {100 * cnn[0]:.0f} % before and "
        f"{100 * cnn[1]:.0f} % after training (relative: {100 * rows[0]:.0f} and "
        f"{100 * rows[1]:.0f} %)"
    )
    if UNSTABLE not in whole:
        return f"{text}; at the published step size the two-layer network diverged."
    alive = _ends(whole, UNSTABLE, "alive")
    top = np.mean([max(one["loss"]) for one in whole[UNSTABLE]])
    return (
        f"{text}; at the published step size the two-layer network's loss rises to {top:.2g} and "
        f"{100 * alive[1]:.0f} % of its units stay alive."
    )


def meaning(whole: Mapping[str, list[Found]]) -> tuple[str, ...]:
    """What a sceptic should know."""
    stable = _ends(whole, STABLE, "normalized, accuracy")
    return (
        "A wide network at a small step size fits its data while its weights hardly move, so the "
        "similarities of its steps stay close to those of the random start. "
        f"The two-layer network at a stable step clusters digits at {100 * stable[0]:.0f} % before "
        f"and {100 * stable[1]:.0f} % after. Claims of the kind 'the trained network is locally "
        "elastic' should be read beside the untrained one.",
        _unstable(whole),
        "Accuracy is of two clusters under the best matching: random labels get more than a half, "
        "the dotted line. With few digits and seeds small differences mean nothing: look at the "
        "bands.",
    )


def _unstable(whole: Mapping[str, list[Found]]) -> str:
    """What the published step size did."""
    if UNSTABLE not in whole:
        return "At the published step size every training of the two-layer network diverged."
    over, alive, loss = (
        _ends(whole, UNSTABLE, key) for key in ("step size over limit", "alive", "loss")
    )
    ends = "fits nonetheless" if loss[1] < 0.9 * loss[0] else "does not fit at this scale"
    return (
        f"The published step size for digits is {over[0]:.0f} times the stability limit of the "
        f"untrained two-layer network. Its first steps overshoot, and {100 * alive[1]:.0f} % of "
        f"the hidden units are left that are on at any example ({100 * alive[0]:.0f} % before). "
        f"What is left {ends}: the loss ends at {loss[1]:.2g}, from {loss[0]:.2g}. So the network "
        "that is measured at these settings is a remnant of the one that was drawn, and its "
        "similarities are to be read as those of an accident of the step size."
    )


EXPERIMENTS = (OverTraining(),)
