"""Figure 6: one step on a mini-batch of two different photographs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from localelastic.data.origin import Origin
from localelastic.data.photos import SHIPPED
from localelastic.experiments.experiment import PARALLEL, Cost, Costs, Experiment, Request
from localelastic.experiments.photo_subject import (
    FEW_LRS,
    LRS,
    QUICK_LRS,
    TABBY,
    TREE_FROG,
    WARPLANE,
    Step,
    Taken,
    View,
    as_printed,
    checkpoint,
    classifier_at,
    crops,
    in_folder,
    lr_notes,
    nearest_lr,
    same_settings,
    settled,
    take_all,
    thumbnails,
)
from localelastic.models.classifiers import class_name
from localelastic.plots.photo_steps import mini_batch_figure
from localelastic.report.experiment import Picture
from localelastic.report.experiment_record import ExperimentRecord, Quantity
from localelastic.shapes import Progress

FIRST = replace(TABBY, plain="first")
SECOND = replace(WARPLANE, plain="second")

BATCH, ALONE_FIRST, ALONE_SECOND = "mini-batch of two", "first alone", "second alone"
WAYS = (BATCH, ALONE_FIRST, ALONE_SECOND)
TESTS = ("like the first", "like the second", "like neither")


@dataclass(frozen=True)
class Counts:
    """Test photographs like neither, and step sizes."""

    neither: int
    lrs: tuple[float, ...] = LRS


COUNTS = {"smoke": Counts(2, FEW_LRS), "quick": Counts(6, QUICK_LRS), "paper": Counts(6)}


@dataclass(frozen=True)
class Chosen:
    """Photographs of one seed: two to step on; to test one like each, and some like neither."""

    pair: tuple[View, View]
    like_first: View
    like_second: View
    neither: tuple[View, ...]

    @property
    def probes(self) -> tuple[View, ...]:
        """In the order of ``TESTS``."""
        return (self.like_first, self.like_second, *self.neither)

    def steps(self, classifier: Origin | None, lrs: tuple[float, ...]) -> list[Step]:
        """In the order of ``WAYS``."""
        first, second = self.pair
        return [
            Step(classifier, views, self.probes, lrs)
            for views in ((first, second), (first,), (second,))
        ]


def chosen(request: Request, counts: Counts, seed: int) -> Chosen:
    """A user's, or squares of those that packages carry."""
    if request.photos is not None:
        first, like_first = in_folder(request.photos, FIRST, 2, seed, least=2)
        second, like_second = in_folder(request.photos, SECOND, 2, seed, least=2)
        neither = in_folder(request.photos, TREE_FROG, counts.neither, seed)
        return Chosen((first, second), like_first, like_second, neither)
    rng = np.random.default_rng(seed)
    others = [name for name in SHIPPED if not name.startswith(("cat", "motorcycle"))]
    return Chosen(
        (next(crops("cat", 1, rng)), next(crops("motorcycle", 1, rng))),
        next(crops("cat", 1, rng, mirrored=True)),
        next(crops("motorcycle, other eye", 1, rng, mirrored=True)),
        tuple(view for name in others[: counts.neither] for view in crops(name, 1, rng)),
    )


def numbers(taken: list[Taken]) -> dict[tuple[str, str], float]:
    """KL at one step size by way to step and test photograph; of the last kind the mean."""
    found: dict[tuple[str, str], float] = {}
    for way, one in zip(WAYS, taken, strict=True):
        values = _by_test(one.kl[0])
        found |= {(way, f"KL, {test}"): v for test, v in zip(TESTS, values, strict=True)}
    batch = _by_test(taken[0].kl[0])
    found[BATCH, "the lesser of the first two over neither"] = min(batch[:2]) / batch[2]
    own = float(taken[0].self_kl[0].mean())
    for test, value in zip(TESTS, batch, strict=True):
        found["relative KL of the mini-batch", test] = value / own
    return found


def _by_test(kl: np.ndarray) -> list[float]:
    return [float(kl[0]), float(kl[1]), float(kl[2:].mean())]


class Figure6(Experiment):
    """Figure 6: the mini-batch of two."""

    name = "figure6"
    title = "a step on a mini-batch of two photographs"
    source = "Figure 6, appendix A.2"
    # As of figure 5.
    costs = Costs(Cost(15.0, 0.8), Cost(86.0, 2.3, seeds=5), Cost(120.0, 2.3, seeds=10))
    takes = PARALLEL | {"photos", "classifier"}

    def measure(self, request: Request, progress: Progress) -> ExperimentRecord:
        """Look at all step sizes with the first pair, then step on every pair at one of them."""
        counts = COUNTS[request.scale]
        classifier = checkpoint(request)
        request, choices, notes = settled(
            request,
            partial(chosen, request, counts),
            "Seeds chose the same photographs each time: one is run.",
        )
        first = choices[0].steps(classifier, counts.lrs)[:1]
        (looked,) = take_all(first, request, progress, "step sizes")
        printed = as_printed("figure6")
        wanted = printed["mini-batch tabby+warplane: KL tabby"]
        lr = nearest_lr(counts.lrs, looked.kl[:, 0].tolist(), wanted)
        steps = [step for one in choices for step in one.steps(classifier, (lr,))]
        taken = iter(take_all(steps, request, progress, "steps"))
        runs = [[next(taken) for _ in WAYS] for _ in choices]
        found = [numbers(run) for run in runs]
        return ExperimentRecord(
            self.name,
            self.title,
            self.source,
            "A real classifier takes one step on two different photographs at once: does it move "
            "what is like either of them, and leave the rest?",
            _finding(found, request),
            _meaning(),
            request.scale,
            request.seeds,
            tuple(_quantities(found, printed)),
            {
                **same_settings(classifier_at(classifier)),
                "photographs": _photographs(request),
                "labels stepped on": " and ".join(class_name(y) for y in runs[0][0].labels),
                "mini-batch": "one step down the mean loss of the two",
                "step size": f"{lr:g}: of {', '.join(f'{x:g}' for x in counts.lrs)} the one at "
                f"which the KL on the photograph like the first is nearest to the printed "
                f"{wanted:g}, with the first seed",
            },
            (*notes, *lr_notes(counts.lrs, lr), *_notes(request, runs, choices)),
            series=_series(runs[0], choices[0], looked, counts.lrs, lr),
        )

    def draw(self, record: ExperimentRecord) -> Iterator[Picture]:
        """The photographs, and what each way to step does to them."""
        yield Picture(
            "figure6",
            "Left: the two photographs of the mini-batch (first seed). Middle: KL divergence of "
            "the prediction before from the one after at the test photographs, in nats on a "
            "logarithmic axis, after a step on both (black), on the first alone (blue) and on the "
            "second alone (vermilion). Right: the same after the step on both for other step "
            "sizes.",
            mini_batch_figure(record.series, WAYS, TESTS),
        )


def _quantities(
    found: list[dict[tuple[str, str], float]], printed: dict[str, float]
) -> Iterator[Quantity]:
    beside = {
        (BATCH, "KL, like the first"): (
            printed["mini-batch tabby+warplane: KL tabby"],
            "our step size is chosen by it, so only the other two compare",
        ),
        (BATCH, "KL, like the second"): (printed["KL warplane"], "a warplane in the paper"),
        (BATCH, "KL, like neither"): (printed["KL tree frog"], "one tree frog in the paper"),
        (BATCH, "the lesser of the first two over neither"): (None, "of the printed ones: 52"),
    }
    for group, name in found[0]:
        value, note = beside.get((group, name), (None, ""))
        headline = group == BATCH and name != "KL, like the first"
        values = tuple(one[group, name] for one in found)
        digits = 4 if name.startswith("KL") else 2
        yield Quantity(name, values, value, group, note=note, headline=headline, digits=digits)


def _finding(found: list[dict[tuple[str, str], float]], request: Request) -> str:
    first, second, neither = (
        float(np.mean([one[BATCH, f"KL, {test}"] for one in found])) for test in TESTS
    )
    things = (
        ("another view of the cat", "of the motorcycle")
        if request.photos is None
        else ("the photograph like the first", "like the second")
    )
    verdict = (
        "more than photographs like neither"
        if min(first, second) > neither
        else "but not both more than photographs like neither"
    )
    held = sum(one[BATCH, "the lesser of the first two over neither"] > 1 for one in found)
    return (
        f"One step on a mini-batch of two moves the predictions of {things[0]} ({first:.2g} nats "
        f"on average) and {things[1]} ({second:.2g}), {verdict} ({neither:.2g}); both moved more "
        f"than the mean of those in {held} of {len(found)} seeds."
    )


def _meaning() -> tuple[str, ...]:
    return (
        "A step on a mini-batch goes down the mean of two losses. If steps are local, each half "
        "moves what is like its own photograph, so both test photographs that have a partner move, "
        "and the others hardly do. The steps on one photograph alone, which the paper does not "
        "show, are the control: each should move its own partner and not the other's.",
        "How large the two changes are beside each other says little: the photograph that the "
        "classifier reads worse has the larger gradient, and a prediction that is already sure "
        "has little KL left to move. KL also grows with the square of the step size, which the "
        "paper does not give.",
    )


def _photographs(request: Request) -> str:
    if request.photos is not None:
        return f"drawn by the seed from {request.photos}, one pair for each seed"
    return (
        "random squares of photographs in scikit-image and scikit-learn, of 70 to 100 % of the "
        "shorter side; tested on a mirrored square of the same cat, and on a mirrored square of "
        "the motorcycle by the other camera of a stereo pair"
    )


def _notes(request: Request, runs: list[list[Taken]], choices: list[Chosen]) -> Iterator[str]:
    if request.photos is None:
        yield (
            "There is one cat and one motorcycle among the photographs that packages carry: the "
            "test pictures show the same things again. Other seeds are other squares of the same "
            "photographs. For other cats, planes and frogs give a folder with sub-folders tabby, "
            "warplane and tree-frog as --photos, two photographs or more in the first two."
        )
    batch = runs[0][0]
    tops = ", ".join(
        f"{view.name} {class_name(int(top))} {share:.0%}"
        for view, top, share in zip(choices[0].probes, batch.top, batch.top_share, strict=True)
    )
    own = " and ".join(class_name(int(top)) for top in batch.step_top)
    yield f"First choice of the classifier: of the two stepped on {own}; of others {tops}."
    hidden = sum(one.hidden for run in runs for one in run)
    if hidden:
        yield f"{hidden} changes are below the noise floor of single precision."


def _series(
    run: list[Taken], one: Chosen, looked: Taken, lrs: tuple[float, ...], lr: float
) -> dict[str, np.ndarray]:
    """What the picture is drawn from, of the first seed."""
    return {
        "kl": np.stack([taken.kl[0] for taken in run]),
        "distance": run[0].distance,
        "names": np.array([view.name for view in one.probes]),
        "photos": thumbnails(one.probes),
        "stepped_on": thumbnails(one.pair),
        "stepped_on_names": np.array(
            [
                f"{view.name}, as {class_name(label)}"
                for view, label in zip(one.pair, run[0].labels, strict=True)
            ]
        ),
        "lrs": np.array(lrs),
        "lr": np.array([lr]),
        "sweep": np.stack([looked.kl[:, 0], looked.kl[:, 1], looked.kl[:, 2:].mean(1)]),
    }


EXPERIMENTS = (Figure6(),)
