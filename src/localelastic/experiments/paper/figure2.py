"""Figure 2: one real step at x on a linear classifier and on a network, seen at a far x'."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import nn

from localelastic.data import Examples
from localelastic.errors import MeasurementError
from localelastic.experiments.cells import survivors
from localelastic.experiments.experiment import PARALLEL, Cost, Costs, Experiment, Request
from localelastic.measure import prediction_change
from localelastic.models import SquaredLoss, TwoLayer, WarmUp, sharpness, warm_up
from localelastic.plots.one_step import one_step_figure
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.shapes import Points, Progress, Vector

LOSS = SquaredLoss()
KINDS = ("linear", "ReLU")
RADIUS, N_EACH = 2.0, 30
AT, FAR = 125.0, -55.0
"""Degrees: the point stepped on, well inside the other class, and the point opposite."""
MOVES = 0.75
"""Of the gap between prediction and target at x, how much the step closes in first order."""
AROUND = np.arange(-180.0, 180.5, 2.0)
SIDE = np.linspace(-3.4, 3.4, 69)
SCALES = {"smoke": (64, 30), "quick": (4096, 600), "paper": (40960, 3000)}
"""Hidden units, and epochs of the fit."""
FAR_RATIO = "relative change at x'"
MEAN = "mean relative change at the data"


@dataclass(frozen=True)
class Cell:
    """One classifier on one data set."""

    kind: str
    width: int
    epochs: int
    seed: int


@dataclass(frozen=True, eq=False)
class Stepped:
    """What one step did.

    Args:
        numbers: for the record.
        before: prediction around the ring.
        change: there.
        first_order: of the change, there.
        marked: prediction and change at x and at x', ``[[f(x), f(x')], [change, change]]``.
        plane: prediction before, and change, on a square grid.
    """

    numbers: dict[str, float]
    before: Vector
    change: Vector
    first_order: Vector
    marked: Float[np.ndarray, "2 2"]
    plane: Float[np.ndarray, "2 p p"]


def ring(degrees: Vector, radius: float | Vector = RADIUS) -> Points:
    """Points on a circle."""
    angle = np.deg2rad(degrees)
    return (radius * np.stack([np.cos(angle), np.sin(angle)])).T


def toy_data(seed: int) -> tuple[Points, Vector]:
    """Two classes on a noisy ring: +1 on the right half, -1 on the left half."""
    random = np.random.default_rng([2, seed])
    degrees = np.concatenate([random.uniform(-80, 80, N_EACH), random.uniform(100, 260, N_EACH)])
    points = ring(degrees, RADIUS + 0.15 * random.standard_normal(2 * N_EACH))
    return points, np.repeat([1.0, -1.0], N_EACH)


def classifier(cell: Cell) -> nn.Module:
    """Untrained."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(cell.seed)
        if cell.kind == "ReLU":
            return TwoLayer((2,), width=cell.width)
        return nn.Sequential(nn.Linear(2, 1), nn.Flatten(0))


def stepped(cell: Cell) -> Stepped:
    """Fit, step once on x as if it were of class +1, look everywhere.

    Raises:
        MeasurementError: the fit diverged, or x is already where the step would take it.
    """
    points, targets = toy_data(cell.seed)
    model = classifier(cell)
    inputs, goals = torch.tensor(points).float(), torch.tensor(targets).float()
    lr = 1.0 / sharpness(model, inputs, goals, loss=LOSS)
    halves = [
        Examples.of(inputs[goals == goal], targets=goals[goals == goal], ids=names)
        for goal, names in ((1.0, range(N_EACH)), (-1.0, range(N_EACH, 2 * N_EACH)))
    ]
    settings = WarmUp(cell.epochs, lr, 0.0, 2 * N_EACH)
    training = warm_up(model, *halves, loss=LOSS, settings=settings, seed=cell.seed)
    one = Examples.of(torch.tensor(ring(np.array([AT]))), targets=torch.ones(1).double())
    model = model.double()
    places = [points, ring(np.array([AT, FAR])), ring(AROUND), _plane()]
    probes = Examples.of(torch.tensor(np.concatenate(places)))
    step = MOVES / _own_kernel(model, one.inputs)
    found = prediction_change(model, one, probes, lr=step, loss=LOSS)
    if found.first_order is None or not found.self_size:
        raise MeasurementError("the step at x moved nothing: it was fitted exactly")
    ends = np.cumsum([len(place) for place in places])[:-1]
    data, marked, around, plane = np.split(np.arange(len(probes)), ends)
    own, far = found.change[marked]
    numbers = {
        FAR_RATIO: float(abs(far / own)),
        "signed ratio at x'": float(far / own),
        MEAN: float(found.relative[data].mean()),
        "change at x": float(own),
        "change at x'": float(far),
        "change at x, first order": float(found.first_order[marked[0]]),
        "change at x', first order": float(found.first_order[marked[1]]),
        "training accuracy": training.accuracy,
    }
    return Stepped(
        numbers,
        found.before[around],
        found.change[around],
        found.first_order[around],
        np.stack([found.before[marked], found.change[marked]]),
        np.stack([found.before[plane], found.change[plane]]).reshape(2, len(SIDE), len(SIDE)),
    )


def _plane() -> Points:
    return np.stack(np.meshgrid(SIDE, SIDE), axis=-1).reshape(-1, 2)


def _own_kernel(model: nn.Module, inputs: torch.Tensor) -> float:
    """``|df(x)/dw|^2``: a small step moves f(x) by the step size times this times the gap."""
    rows = torch.autograd.grad(model(inputs).sum(), list(model.parameters()))
    return float(sum(row.square().sum() for row in rows))


class Figure2(Experiment):
    """The paper's illustration, of a real step."""

    name = "figure2"
    title = "one step at x, and the prediction at a far x'"
    source = "Figure 2, section 2.1 (drawn by hand there)"
    takes = PARALLEL
    # Paper: 10 times the width, 5 times the epochs of quick; half of quick is the steps' probes.
    costs = Costs(Cost(2.0, 0.5), Cost(30.0, 0.6, seeds=5), Cost(600.0, 1.0, seeds=5))

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """One step on each classifier with every seed."""
        width, epochs = SCALES[request.scale]
        cells = [Cell(kind, width, epochs, seed) for kind in KINDS for seed in request.seeds]
        results = request.compute(stepped, cells, progress=progress, stage="steps")
        found: dict[str, list[dict[str, float]]] = {}
        series: dict[str, np.ndarray] = {"around": AROUND, "side": SIDE}
        notes: list[str] = []
        for cell, one in survivors(
            zip(cells, results, strict=True), lambda c: f"{c.kind}, seed {c.seed}", notes
        ):
            if cell.kind not in found:  # the first seed that came to an end
                for name in ("before", "change", "first_order", "marked", "plane"):
                    series[f"{cell.kind}/{name}"] = getattr(one, name)
                series[f"{cell.kind}/points"], series[f"{cell.kind}/targets"] = toy_data(cell.seed)
            found.setdefault(cell.kind, []).append(one.numbers)
        if set(found) != set(KINDS):
            raise MeasurementError(f"a classifier has no fit to show (first: {notes[0]})")
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "One step teaches a classifier one new example x. Does its answer at a far-away x' "
            "move too?",
            finding(found),
            MEANING,
            request.scale,
            request.seeds,
            tuple(
                Quantity(
                    name,
                    tuple(one[name] for one in seeds),
                    group=kind,
                    headline=name == FAR_RATIO,
                )
                for kind, seeds in found.items()
                for name in seeds[0]
            ),
            {
                "data": f"{N_EACH} + {N_EACH} points near a circle of radius {RADIUS:g}: class +1 "
                "on the right, -1 on the left",
                "classifiers": f"w x + b, and a two-layer ReLU network of {width:,} hidden units",
                "fit": f"{epochs:,} epochs of full-batch gradient descent, squared loss, at half "
                "of the stability limit",
                "step": f"one plain gradient step on x at {AT:g}\u00b0, given class +1, of a size "
                f"that closes {MOVES:g} of the gap to its target in first order; double precision",
                "x'": f"at {FAR:g}\u00b0, opposite to x",
            },
            (
                *notes,
                "The paper's figure is a drawing without numbers; this one is of a real step.",
            ),
            series=series,
        )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """Both classifiers side by side."""
        yield Picture(
            self.name,
            "Left the linear classifier, right the ReLU network, before and after one step that "
            "says: the point x (star) belongs to the blue class. Above: how much the prediction "
            "moved everywhere in the plane (blue up, orange down), with the line between the "
            "classes before (solid) and after (dashed). Below: the prediction along the circle, "
            "with the changes at x and at the opposite point x'; the dotted line is what the "
            "first order of the step says.",
            one_step_figure(record.series, KINDS, at=AT, far=FAR, radius=RADIUS),
        )


MEANING = (
    "A linear classifier has one slope for the whole plane. Raising the prediction at x turns "
    "that slope, and the far side must come down where x goes up: it loses there what it knew, "
    "to learn something here.",
    "In the ReLU network a point moves only through the hidden units that are on at it. Those that "
    "are on at x are nearly all off at the opposite x', so its prediction stays almost where it "
    "was. Points in between share some units and move in part: the step is local in the angle, "
    "not in the distance from the origin, and in the plane it reaches outward as a cone.",
    "The dotted line is the first order of the same step. Where it lies on the solid one, the "
    "step is small enough for the similarities of small steps to tell what it does.",
)


def finding(found: Mapping[str, list[dict[str, float]]]) -> str:
    """One sentence, of what was measured."""
    linear, relu = (np.mean([one[FAR_RATIO] for one in found[kind]]) for kind in KINDS)
    return (
        f"One step at x moves the prediction at the opposite point x' by {linear:.2f} of its own "
        f"change in the linear classifier, and by {relu:.2f} in the ReLU network."
    )


EXPERIMENTS = (Figure2(),)
